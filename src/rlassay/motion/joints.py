"""Each column of states and actions: its range, how much it moves, and where it is dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.motion.trajectories import Motion


@dataclass(frozen=True)
class Joints:
    """Ranges of the columns of one kind, `states` or `actions`."""

    kind: str
    low: np.ndarray
    median: np.ndarray
    high: np.ndarray
    moving: np.ndarray  # share of steps in which the column changes
    still_episodes: tuple[
        np.ndarray, ...
    ]  # for each column, the episodes in which it never changes

    @property
    def dead(self) -> np.ndarray:
        """Columns that never change in any episode and have one value throughout."""
        return np.flatnonzero(self.low == self.high)

    def half_dead(self, count: int) -> dict[int, np.ndarray]:
        """Columns that are alive in most episodes and never change in some of them."""
        return {
            column: episodes
            for column, episodes in enumerate(self.still_episodes)
            if 0 < len(episodes) <= count / 2
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "low": self.low,
            "median": self.median,
            "high": self.high,
            "moving": self.moving,
            "dead": self.dead,
        }


def ranges(motion: Motion, kind: str) -> Joints:
    """Ranges of `states` or `actions`."""
    columns = getattr(motion, kind)
    change = np.diff(columns, axis=0)[motion.inside[:-1]] != 0
    moving = change.mean(axis=0) if len(change) else np.zeros(columns.shape[1])
    high = np.maximum.reduceat(columns, motion.starts, axis=0)
    low = np.minimum.reduceat(columns, motion.starts, axis=0)
    still = (high == low) & (motion.lengths > 1)[:, None]  # one row cannot move
    return Joints(
        kind,
        columns.min(axis=0),
        np.median(columns, axis=0),
        columns.max(axis=0),
        moving,
        tuple(np.flatnonzero(column) for column in still.T),
    )
