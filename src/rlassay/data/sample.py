"""A part of a dataset that does not fit into memory: whole episodes, chosen by a seed, that learning goes by."""

from __future__ import annotations

import numpy as np

from rlassay.data.dataset import COLUMNS, Dataset
from rlassay.data.memory import MEMORY_SHARE, WORKING_COPIES, available_memory

TRANSITIONS = (
    500_000  # most of a sample: what is learned changes little beyond, and time stays the same
)
STREAM = 641


def sampled_episodes(data: Dataset, seed: int = 0) -> np.ndarray | None:
    """Numbers of the episodes of the sample, ascending; None where all of them fit."""
    most = min(TRANSITIONS, _rows_that_fit(data))
    if len(data) <= most:
        return None
    order = np.random.default_rng([seed, STREAM]).permutation(data.episode_count)
    reached = np.cumsum(data.episode_lengths[order])
    return np.sort(order[: max(1, int(np.searchsorted(reached, most, side="right")))])


def _rows_that_fit(data: Dataset) -> int:
    allowed = data.origin.reading.get("memory") or int(available_memory() * MEMORY_SHARE)
    columns = [column for name in COLUMNS if (column := getattr(data, name)) is not None]
    row = sum(column.nbytes for column in columns) / len(data)
    return int(allowed / (WORKING_COPIES * row))
