"""Checks of the order in time: does each row lead to the next, and does an episode appear twice?"""

from __future__ import annotations

import hashlib

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.inspection.results import Check, Status, found, passed

SAME = 1e-4  # of a dimension's deviation: closer than this is the same observation, stored with less precision
MANY = 0.01  # share of rows that makes a broken order certain
JUMP = 20.0  # times the 99th percentile of a dimension's steps
SAMPLE = 100_000  # rows for the percentile
BLOCK = 65_536  # rows compared at once, so that memory stays small
SHIFTS = {
    0: "next_observations repeat the row's own observation",
    2: "next_observations are one row late",
    -1: "next_observations are the observations of the row before",
}


def alignment(data: Dataset) -> Check:
    """`next_observations[t]` against `observations[t + 1]` inside episodes."""
    inside = np.flatnonzero(data.next_action_valid & data.next_valid)
    if len(inside) == 0:
        return passed("alignment", "no row has a successor to compare with")
    odd = inside[~_agree(data, inside, 1)]
    if len(odd) == 0:
        return passed("alignment", f"all {len(inside):,} next observations equal the next row's")
    status: Status = "fail" if len(odd) > MANY * len(inside) else "warn"
    message = (
        f"{len(odd):,} of {len(inside):,} next observations differ from the next row's observation"
    )
    shifted = _shift(data, odd)
    if shifted:
        message = f"{message}: {shifted}"
    remedy = "an episode border is missing there, the rows are shuffled, or a column is shifted"
    return found("alignment", status, message, remedy, odd)


def _agree(data: Dataset, rows: np.ndarray, shift: int) -> np.ndarray:
    """Where next_observations[row] is observations[row + shift]."""
    tolerance = SAME * np.nan_to_num(data.observation_statistics[1])
    agree = np.empty(len(rows), bool)
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        following, expected = data.next_observations[block], data.observations[block + shift]
        same = np.abs(following - expected) <= tolerance
        agree[first : first + BLOCK] = (same | (following == expected)).all(axis=1)
    return agree


def _shift(data: Dataset, odd: np.ndarray) -> str | None:
    """The off-by-one that explains nearly all odd rows."""
    for shift, text in SHIFTS.items():
        rows = odd[(odd + shift >= 0) & (odd + shift < len(data))]
        if len(rows) and _agree(data, rows, shift).mean() > 0.9:
            return text
    return None


def continuity(data: Dataset) -> Check:
    """Jumps between neighbouring observations of one episode, far beyond the usual step."""
    inside = np.flatnonzero(data.next_action_valid)
    if len(inside) < 100:
        return passed("continuity", "too few rows to know the usual step")
    every = -(-len(inside) // SAMPLE)
    sample = inside[::every]
    steps = np.abs(data.observations[sample + 1] - data.observations[sample])
    usual = np.quantile(steps, 0.99, axis=0)
    limit = np.where(
        usual > 0, JUMP * usual, np.inf
    )  # a dimension that rarely moves has no usual step
    jumps = _steps_beyond(data, inside, limit)
    if len(jumps) == 0:
        return passed("continuity", "no jump between neighbouring observations")
    message = f"{len(jumps):,} steps inside episodes are more than {JUMP:g} times the usual one"
    remedy = (
        "an episode border is missing behind these rows, or the sensor jumped; check the timeouts"
    )
    return found("continuity", "warn", message, remedy, jumps)


def _steps_beyond(data: Dataset, rows: np.ndarray, limit: np.ndarray) -> np.ndarray:
    found_rows = []
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        step = np.abs(data.observations[block + 1] - data.observations[block])
        found_rows.append(block[(step > limit).any(axis=1)])
    return np.concatenate(found_rows)


def duplicate_episodes(data: Dataset) -> Check:
    """Episodes with the same observations and actions as an earlier one."""
    candidates = _same_sums(data)
    seen: set[bytes] = set()
    copies = []
    for index in candidates:
        episode = data.episode(int(index))
        digest = hashlib.blake2b(
            np.ascontiguousarray(episode.observations).tobytes(), digest_size=16
        )
        digest.update(np.ascontiguousarray(episode.actions).tobytes())
        if digest.digest() in seen:
            copies.append(episode.start)
        seen.add(digest.digest())
    if not copies:
        return passed("duplicate_episodes", "no episode appears twice")
    message = f"{len(copies):,} of {data.episode_count:,} episodes are copies of an earlier one"
    remedy = "drop the copies; they count twice and break held-out checks"
    return found("duplicate_episodes", "warn", message, remedy, copies)


def _same_sums(data: Dataset) -> np.ndarray:
    """Episodes whose length and sums another one shares: only these are compared in full."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = [
            np.add.reduceat(column.sum(axis=1, dtype=np.float64), data.episode_starts)
            for column in (data.observations, data.actions)
        ]
    keys = np.nan_to_num(np.column_stack([data.episode_lengths, *sums]))
    _, group, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[group.ravel()] > 1)
