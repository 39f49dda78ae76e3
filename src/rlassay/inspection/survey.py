"""What the checks ask of every row, looked up in one pass over the data, block by block, and kept with the dataset."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rlassay.data.blocks import BlockColumn, blocks_of
from rlassay.data.dataset import Dataset
from rlassay.data.duplicates import Edges

NUMBERS = ("observations", "actions", "rewards", "next_observations")
LEAST_STEPS = 100  # to know the usual step
SAMPLE = 100_000  # rows for the percentile of steps
SAMPLED_NUMBERS = 64 * SAMPLE
LOOKED_AT = 2**20  # flags a time
STEPS_AT_ONCE = 1_024
_surveys: WeakKeyDictionary[Dataset, Survey] = WeakKeyDictionary()


@dataclass(frozen=True)
class Survey:
    """Rows that are not finite by column, ranges of observations and actions, and the rows that some checks look at."""

    not_finite: Mapping[str, np.ndarray]
    bounds: Mapping[str, tuple[np.ndarray, np.ndarray]]
    # 99th percentile of a step's change in each dimension of the observation; None where there are too few to know
    usual_step: np.ndarray | None
    edges: Edges  # first and last row of every episode

    def rows_not_finite(self) -> np.ndarray:
        return functools.reduce(np.logical_or, self.not_finite.values())


def survey(data: Dataset) -> Survey:
    """The survey of a dataset, made once."""
    if data not in _surveys:
        _surveys[data] = _made(data)
    return _surveys[data]


def _made(data: Dataset) -> Survey:
    ends = np.stack([data.episode_starts, data.episode_stops - 1], axis=1).ravel()
    begun = sampled_steps(data)
    observations = _pass(data.observations, ends, begun)
    actions = _pass(data.actions, ends)
    bad = {"observations": observations.bad, "actions": actions.bad}
    bad["rewards"] = not_finite(data.rewards)
    bad["next_observations"] = _bad_successors(data, observations.bad)
    edges = [found.gathered[place::2] for found in (observations, actions) for place in (0, 1)]
    return Survey(
        not_finite={name: _few(bad[name]) for name in NUMBERS},
        bounds={"observations": observations.bounds, "actions": actions.bounds},
        usual_step=np.quantile(observations.steps, 0.99, axis=0) if len(begun) else None,
        edges=Edges(*edges),
    )


def _few(flags: np.ndarray) -> np.ndarray:
    """The flags; where none is set, a view of one that takes no memory."""
    return flags if flags.any() else np.broadcast_to(np.zeros((), bool), flags.shape)


def sampled_steps(data: Dataset) -> np.ndarray:
    """Rows, evenly thinned, from which the usual step to the next row is known; none where there are too few."""
    total = int(data.next_action_valid.sum())
    if total < LEAST_STEPS:
        return np.zeros(0, np.int64)
    most = max(LEAST_STEPS, min(SAMPLE, SAMPLED_NUMBERS // data.observation_dim))
    return every_nth(data.next_action_valid, -(-total // most))


def every_nth(flags: np.ndarray, step: int) -> np.ndarray:
    """The first of the rows that are flagged, and every `step`-th behind it."""
    found, met = [], 0
    for first in range(0, len(flags), LOOKED_AT):
        rows = np.flatnonzero(flags[first : first + LOOKED_AT])
        found.append(rows[-met % step :: step] + first)
        met += len(rows)
    return np.concatenate(found)


@dataclass(frozen=True)
class _Passed:
    bad: np.ndarray
    bounds: tuple[np.ndarray, np.ndarray]
    gathered: np.ndarray
    steps: np.ndarray


def _pass(column: Any, wanted: np.ndarray, begun: Sequence[int] | np.ndarray = ()) -> _Passed:
    """Everything that is asked of one column, in one reading; `wanted` and `begun` are ascending numbers of rows."""
    bad, lows, highs = np.zeros(len(column), bool), [], []
    gathered, steps = (
        np.empty((len(rows), column.shape[1]), column.dtype) for rows in (wanted, begun)
    )
    for first, block in blocks_of(column):
        stop = first + len(block)
        bad[first:stop] = not_finite(block)
        lows.append(block.min(axis=0))
        highs.append(block.max(axis=0))
        low, high = np.searchsorted(wanted, [first, stop])
        gathered[low:high] = block[wanted[low:high] - first]
        low, high = np.searchsorted(begun, [first, stop])
        for place in range(low, high, STEPS_AT_ONCE):
            rows = np.asarray(begun[place : min(place + STEPS_AT_ONCE, high)])
            steps[place : place + len(rows)] = np.abs(column[rows + 1] - block[rows - first])
    bounds = np.min(lows, axis=0), np.max(highs, axis=0)
    if isinstance(column, BlockColumn):
        column.remember_bounds(*bounds)
    return _Passed(bad, bounds, gathered, steps)


def not_finite(column: Any) -> np.ndarray:
    """Rows of a column with NaN or infinity."""
    if column is None or column.dtype.kind in "iu":
        return np.zeros(() if column is None else len(column), bool)
    found = np.empty(len(column), bool)
    for first, block in blocks_of(column):
        bad = ~np.isfinite(block)
        found[first : first + len(block)] = bad if bad.ndim == 1 else bad.any(axis=1)
    return found


def _bad_successors(data: Dataset, bad: np.ndarray) -> np.ndarray:
    """Successors that are the next rows, or repeat their own, need no look of their own."""
    following = data.next_observations
    if not (isinstance(following, BlockColumn) and following.follows is data.observations):
        return not_finite(following)
    return np.where(data.next_valid, np.append(bad[1:], bad[-1:]), bad)
