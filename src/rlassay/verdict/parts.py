"""The best part of a file: its episodes of highest return."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlassay.data.dataset import Dataset

BEST_PART = 0.2  # of the episodes that `clone-best-part` keeps
Count = Callable[[int], int]  # of all episodes -> of those in the part


def best_fifth(episodes: int) -> int:
    """As many as `curate --keep 0.2` keeps."""
    return max(1, int(BEST_PART * episodes + 0.5))


def best_tenth(episodes: int) -> int:
    """A tenth, rounded up; never fewer than two, so that one can be held out."""
    return min(max(2, int(np.ceil(0.1 * episodes))), episodes)


def best_part(data: Dataset, count: Count) -> Dataset:
    """The episodes of highest return, in their order in the file."""
    return data.select(np.sort(_best(data.episode_returns, count)))


def return_of_best(data: Dataset, count: Count) -> float:
    """The mean return of the best part."""
    returns = data.episode_returns
    return float(returns[_best(returns, count)].mean())


def size_of_best(data: Dataset, count: Count) -> tuple[int, int]:
    """Transitions and episodes of the best part."""
    kept = _best(data.episode_returns, count)
    return int(data.episode_lengths[kept].sum()), len(kept)


def _best(returns: np.ndarray, count: Count) -> np.ndarray:
    return np.argsort(-returns, kind="stable")[: count(len(returns))]
