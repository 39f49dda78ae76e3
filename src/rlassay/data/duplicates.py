"""Which episodes repeat an earlier one: the one rule that `inspect`, `repair` and `curate --dedupe` count by."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from rlassay.data.dataset import Dataset, Episode

COMPARED = ("observations", "actions", "rewards", "terminals", "timeouts")


@dataclass(frozen=True)
class Edges:
    """First and last row of every episode."""

    first_observations: np.ndarray
    last_observations: np.ndarray
    first_actions: np.ndarray
    last_actions: np.ndarray

    @classmethod
    def of(cls, data: Dataset) -> Edges:
        first, last = data.episode_starts, data.episode_stops - 1
        both = np.stack(
            [first, last], axis=1
        ).ravel()  # ascending: one pass over what stays on the disk
        found = [column[both] for column in (data.observations, data.actions)]
        return cls(*(rows[place::2] for rows in found for place in (0, 1)))


def repeated_episodes(data: Dataset, edges: Edges | None = None) -> np.ndarray:
    """Numbers of the episodes that repeat an earlier one in every row: observations, actions, rewards, and how it ends.

    Numbers are compared in single precision, as fingerprints are: what a format may round is no difference. `edges` saves
    looking them up.
    """
    seen: set[bytes] = set()
    repeated = []
    for index in _alike_at_their_edges(data, edges or Edges.of(data)):
        digest = _digest(data.episode(int(index)))
        if digest in seen:
            repeated.append(int(index))
        seen.add(digest)
    return np.asarray(repeated, np.int64)


def _alike_at_their_edges(data: Dataset, edges: Edges) -> np.ndarray:
    """Episodes that share length, first and last row with another one: only these are compared in full."""
    rows = (
        *(edges.first_observations, edges.last_observations),
        *(edges.first_actions, edges.last_actions),
    )
    with np.errstate(invalid="ignore", over="ignore"):
        sums = [_single(each).astype(np.float64).sum(axis=1) for each in rows]
    keys = np.nan_to_num(np.column_stack([data.episode_lengths, *sums]))
    _, group, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[group.ravel()] > 1)


def _single(column: np.ndarray) -> np.ndarray:
    """Floats in single precision with one zero; flags and whole numbers as they are."""
    if column.dtype.kind != "f":
        return column
    return column.astype(np.float32) + np.float32(0)


def _digest(episode: Episode) -> bytes:
    digest = hashlib.sha256()
    for name in COMPARED:
        column = getattr(episode, name)
        if column is not None:
            with np.errstate(over="ignore"):
                digest.update(np.ascontiguousarray(_single(column)).tobytes())
    return digest.digest()
