"""Cleaning before choosing: repeated episodes, and motionless rows at the ends of episodes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rlassay.curation.rule import Rule
from rlassay.data.blocks import span_rows
from rlassay.data.dataset import Dataset
from rlassay.data.duplicates import repeated_episodes
from rlassay.errors import DatasetError


@dataclass(frozen=True)
class Cleaned:
    """Data without repetitions and idle ends; `episodes` and `rows` number what is left in the source."""

    data: Dataset
    episodes: np.ndarray
    rows: Callable[[], np.ndarray]  # their numbers, of which a large dataset has many
    repeated: int = 0
    idle_rows: int = 0


def clean(data: Dataset, rule: Rule) -> Cleaned:
    """Drop repetitions, then cut idle rows, where the rule asks for it."""
    repeated = repeated_episodes(data) if rule.dedupe else np.zeros(0, np.int64)
    episodes = np.setdiff1d(np.arange(data.episode_count), repeated)
    single = data.select(episodes) if len(repeated) else data
    rows = functools.partial(rows_of, data, episodes)
    if not rule.trim_idle:
        return Cleaned(single, episodes, rows, len(repeated))
    first, stop = moving_rows(single, rule.idle_tolerance)
    moving, staying = cut(single, first, stop)
    idle = len(single) - len(moving)
    return Cleaned(moving, episodes[stop > first], lambda: rows()[staying], len(repeated), idle)


def rows_of(data: Dataset, episodes: np.ndarray) -> np.ndarray:
    """The rows of some episodes, in their order."""
    return span_rows(data.episode_starts[episodes], data.episode_lengths[episodes])


def moving_rows(data: Dataset, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """First row and the row behind the last that stay of every episode; both are equal where nothing moves.

    A row is idle when no observation moves by more than `tolerance` of its column's deviation to the next row and no
    action differs by more than `tolerance` of its range from the episode's neighbouring rows.
    """
    idle = _idle(data, tolerance)
    moving = np.append(np.flatnonzero(~idle), len(data))
    first = np.minimum(moving[np.searchsorted(moving, data.episode_starts)], data.episode_stops)
    last = np.flatnonzero(~idle)
    place = np.searchsorted(last, data.episode_stops) - 1
    stop = np.where(place >= 0, last[np.maximum(place, 0)] + 1 if len(last) else 0, 0)
    return first, np.maximum(stop, first)


def _idle(data: Dataset, tolerance: float) -> np.ndarray:
    """Rows in which neither state nor action moves. A terminal is an event, so it is never idle."""
    data = data.in_memory()
    same_state = _still(
        data.next_observations - data.observations, data.observation_statistics[1], tolerance
    )
    same_state &= data.next_valid
    same_state[~data.next_valid] = np.append(False, same_state[:-1])[~data.next_valid]
    low, high, _ = data.action_bounds()
    steady = _still(np.diff(data.actions, axis=0), np.asarray(high, np.float64) - low, tolerance)
    before, after = np.append(True, steady), np.append(steady, True)
    before[data.episode_starts] = True
    after[data.episode_stops - 1] = True
    return same_state & before & after & ~data.terminals


def _still(change: np.ndarray, scale: np.ndarray, tolerance: float) -> np.ndarray:
    return np.all(np.abs(change) <= tolerance * np.asarray(scale), axis=1)


def cut(data: Dataset, first: np.ndarray, stop: np.ndarray) -> tuple[Dataset, np.ndarray]:
    """Rows `first` to `stop` of every episode, and their numbers; empty episodes vanish.

    Where rows are cut from an end, the episode would have gone on: its new last row is a timeout.
    """
    filled = stop > first
    if not filled.any():
        raise DatasetError(
            "no row of the dataset moves", remedy="nothing was written; lower idle_tolerance"
        )
    lengths = (stop - first)[filled]
    rows = span_rows(first[filled], lengths)
    last = np.cumsum(lengths) - 1
    timeouts = data.timeouts[rows].copy()
    timeouts[last[(stop < data.episode_stops)[filled]]] = True
    trimmed = Dataset.from_columns(
        observations=data.observations[rows],
        actions=data.actions[rows],
        rewards=None if data.rewards is None else data.rewards[rows],
        terminals=data.terminals[rows],
        timeouts=timeouts,
        next_observations=data.next_observations[rows],
        next_valid=data.next_valid[rows],
        episode_starts=last - lengths + 1,
        origin=replace(data.origin, notes=(), extras={}),
    )
    return trimmed, rows
