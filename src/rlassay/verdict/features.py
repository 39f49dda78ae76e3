"""What the verdict knows of a file: counts, lengths, coverage and returns. Counted, never fitted, in well under a second."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.verdict.modes import Modes, modes_of

COVERAGE_ROWS = 1_000  # the same number for every file: more rows visit more cells
COVERAGE_BINS = (
    5  # of every dimension, between the smallest and the largest value of the rows looked at
)
STREAM = 621


@dataclass(frozen=True)
class Features:
    """Numbers of one file; returns are in its own unit."""

    transitions: int
    episodes: int
    observation_dim: int
    action_dim: int
    mean_length: float
    longest: int
    coverage: float  # distinct cells of states and actions among 1,000 rows, as a share of the rows
    mean_return: float
    return_by_step: float
    lowest: float
    highest: float
    deviation: float

    def to_dict(self) -> dict[str, Any]:
        """The features as one row of a table."""
        return asdict(self)

    @property
    def largest(self) -> float:
        """The largest return in size: the scale of a file whose task has no reference returns."""
        return max(abs(self.lowest), abs(self.highest))


def features_of(data: Dataset) -> Features:
    """Features of a dataset with rewards."""
    returns, lengths = data.episode_returns, data.episode_lengths
    return Features(
        transitions=len(data),
        episodes=data.episode_count,
        observation_dim=data.observation_dim,
        action_dim=data.action_dim,
        mean_length=float(lengths.mean()),
        longest=int(lengths.max()),
        coverage=coverage_of(data),
        mean_return=float(returns.mean()),
        return_by_step=float(np.average(returns, weights=lengths)),
        lowest=float(returns.min()),
        highest=float(returns.max()),
        deviation=float(returns.std()),
    )


def coverage_of(data: Dataset, seed: int = 0) -> float:
    """Distinct cells of states and actions among a seeded choice of rows, as a share of these rows."""
    count = min(COVERAGE_ROWS, len(data))
    rows = np.sort(np.random.default_rng([seed, STREAM]).choice(len(data), count, replace=False))
    columns = np.concatenate([data.observations[rows], data.actions[rows]], axis=1, dtype=float)
    columns = np.nan_to_num(columns)  # what is not finite is for the inspection to tell
    low, width = columns.min(axis=0), np.ptp(columns, axis=0)
    places = (columns - low) * (COVERAGE_BINS / np.where(width > 0, width, 1.0))
    cells = np.minimum(places, COVERAGE_BINS - 1).astype(np.int8)
    return len(np.unique(cells, axis=0)) / count


def share_worse(returns: np.ndarray, value: float) -> float:
    """Share of the episodes whose return lies below `value`; rounding of float32 rewards makes none worse."""
    slack = 1e-6 * max(float(np.abs(returns).max()), abs(value))
    return float(np.mean(returns < value - slack))


def return_modes(data: Dataset) -> Modes | None:
    """The modes of the file's returns."""
    return modes_of(data.episode_returns)
