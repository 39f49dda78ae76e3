"""Checks of the numbers: finite, varied, inside their bounds, and in the order of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlassay.data.blocks import BlockColumn, blocks_of
from rlassay.data.dataset import Dataset
from rlassay.data.discrete import NUMBERED_ANEW
from rlassay.data.duplicates import repeated_episodes
from rlassay.inspection.results import ROW_LIMIT, Check, Status, command, found, passed
from rlassay.inspection.survey import LEAST_STEPS, NUMBERS, survey

ROUNDING = 1e-6  # of the action range: beyond a bound by this much is arithmetic
# of the action range: beyond a bound by this much is another unit or an unclipped policy
CLEARLY = 0.01
AT_BOUND = 1e-3  # of the action range
SATURATED = 0.5  # share of action entries at a bound
SAME = 1e-4  # of a dimension's deviation: closer than this is the same observation, stored with less precision
MANY = 0.01  # share of rows that makes a broken order certain
SHUFFLED = 0.5  # share of rows beyond which no missing border explains it
JUMP = 20.0  # times the 99th percentile of a dimension's steps
BLOCK_NUMBERS = 2**20  # compared at once, so that memory stays small
SHIFTS = {
    0: "next_observations repeat the row's own observation",
    2: "next_observations are one row late",
    -1: "next_observations are the observations of the row before",
}


def finite(data: Dataset) -> Check:
    """NaN and infinity anywhere."""
    bad = survey(data).not_finite
    rows = survey(data).rows_not_finite()
    if not rows.any():
        return passed("finite", "all numbers are finite")
    names = ", ".join(name for name in NUMBERS if bad[name].any())
    message = f"{rows.sum():,} rows hold NaN or infinity in {names}"
    remedy = f"drop these rows and cut their episodes there: {command('finite')}"
    if rows.all():
        remedy = "no row is whole: find what wrote these numbers and record again"
    return found("finite", "fail", message, remedy, np.flatnonzero(rows))


def rewards(data: Dataset) -> Check:
    """Missing or constant rewards."""
    if data.rewards is None:
        remedy = "add rewards when recording, or use the scores that need none"
        return found("rewards", "warn", "the data has no rewards", remedy)
    low, high = data.rewards.min(), data.rewards.max()
    if low == high:
        message = f"every reward is {low:g}"
        remedy = "returns then measure length alone; check that the rewards were recorded"
        return found("rewards", "warn", message, remedy)
    zero = float(np.mean(data.rewards == 0))
    return passed("rewards", f"rewards from {low:g} to {high:g}, {zero:.0%} of them zero")


def action_bounds(data: Dataset) -> Check:
    """Actions outside the bounds that the source states."""
    low, high, stated = data.action_bounds()
    if not stated and data.discrete_actions and np.min(low) < 0:
        message = f"discrete actions are numbered from 0, and here from {np.min(low):g}"
        negative = [
            first + np.flatnonzero(part.min(axis=1) < 0) for first, part in blocks_of(data.actions)
        ]
        return found("action_bounds", "fail", message, NUMBERED_ANEW, np.concatenate(negative))
    if not stated:
        message = f"the source states no bounds; the actions lie in {_range(low, high)}"
        return passed("action_bounds", message)
    excess = beyond_bounds(data)
    outside = np.flatnonzero(excess > ROUNDING)
    if len(outside) == 0:
        return passed("action_bounds", f"all actions lie in {_range(low, high)}")
    worst = float(excess.max())
    message = f"{len(outside):,} actions lie outside {_range(low, high)}, by up to {worst:.2%} of the range"
    remedy = (
        f"clip the actions: {command('action_bounds')}; or state the bounds in the data's units"
    )
    if data.discrete_actions:
        remedy = "whole numbers have no nearest bound: state the number of actions again"
    return found("action_bounds", "fail" if worst > CLEARLY else "warn", message, remedy, outside)


def beyond_bounds(data: Dataset) -> np.ndarray:
    """How far each row's actions lie outside the stated bounds, as a share of the range; negative inside."""
    low, high, _ = data.action_bounds()
    width = np.maximum(high - low, np.finfo(np.float32).tiny)
    found = np.empty(len(data), np.result_type(data.actions.dtype, width))
    for first, actions in blocks_of(data.actions):
        excess = np.maximum(low - actions, actions - high) / width
        found[first : first + len(actions)] = excess.max(axis=1)
    return found


def _range(low: np.ndarray, high: np.ndarray) -> str:
    return f"[{np.min(low):g}, {np.max(high):g}]"


def action_saturation(data: Dataset) -> Check:
    """Actions that sit at their bounds, or at the extremes of the data."""
    if data.discrete_actions:
        return passed("action_saturation", "actions are whole numbers")
    low, high, _ = data.action_bounds()
    margin = AT_BOUND * (high - low)
    varied = high > low
    count, full = np.zeros(data.action_dim, np.int64), []
    for first, actions in blocks_of(data.actions):
        at_bound = (actions <= low + margin) | (actions >= high - margin)
        count += at_bound.sum(axis=0)
        if sum(map(len, full)) < ROW_LIMIT:
            full.append(first + np.flatnonzero(at_bound[:, varied].all(axis=1)))
    share = count / len(data) * varied
    message = f"{share.mean():.0%} of the action entries are at a bound"
    if share.mean() <= SATURATED:
        return passed("action_saturation", message)
    remedy = (
        "check the clipping and the units of the recorder; no command restores what was cut off"
    )
    return found("action_saturation", "warn", message, remedy, np.concatenate(full))


def dead_dimensions(data: Dataset) -> Check:
    """Dimensions that never change."""
    dead = []
    for name in ("observations", "actions"):
        low, high = survey(data).bounds[name]
        constant = np.flatnonzero(low == high)
        if len(constant):
            dead.append(f"{name} {', '.join(str(d) for d in constant[:20])}")
    if not dead:
        return passed("dead_dimensions", "every dimension varies")
    message = f"constant dimensions: {'; '.join(dead)}"
    return found(
        "dead_dimensions", "warn", message, "check the sensor and the recorder; record without them"
    )


# -- order: does each row lead to the next, and does an episode appear twice?


def alignment(data: Dataset) -> Check:
    """`next_observations[t]` against `observations[t + 1]` inside episodes."""
    inside = compared_count(data)
    if inside == 0:
        return passed("alignment", "no row has a successor to compare with")
    odd = misaligned_rows(data)
    if len(odd) == 0:
        return passed("alignment", f"all {inside:,} next observations equal the next row's")
    status: Status = "fail" if len(odd) > MANY * inside else "warn"
    message = f"{len(odd):,} of {inside:,} next observations differ from the next row's observation"
    shift = shift_of(data, odd)
    if shift is not None:
        message = f"{message}: {SHIFTS[shift]}"
    elif shuffled(data, odd):
        remedy = "the rows seem to be shuffled: write them again in the order of time"
        return found("alignment", status, message, remedy, odd)
    remedy = f"recompute them, or set the border that is missing there: {command('alignment')}"
    return found("alignment", status, message, remedy, odd)


def compared_count(data: Dataset) -> int:
    """How many rows have a stored successor that can be held against the next row."""
    return int((data.next_action_valid & data.next_valid).sum())


def misaligned_rows(data: Dataset) -> np.ndarray:
    """Rows inside episodes whose next observation is not the next row's observation."""
    inside = data.next_action_valid & data.next_valid
    following = data.next_observations
    if isinstance(following, BlockColumn) and following.follows is data.observations:
        # they are the next rows, so that only NaN differs from itself
        inside &= np.append(survey(data).not_finite["observations"][1:], False)
    elif not data.streamed:
        leave_out_equal(inside, following, data.observations, block_size(data))
    candidates = [rows for rows in flagged(inside, block_size(data)) if len(rows)]
    odd = [rows[~agree(data, rows, 1)] for rows in candidates]
    return np.concatenate(odd) if odd else np.zeros(0, np.int64)


def leave_out_equal(
    flags: np.ndarray, following: np.ndarray, observations: np.ndarray, size: int
) -> None:
    """Unflag the rows whose successor is the next row to the bit: nearly all, and told at the price of one look."""
    for first in range(0, len(flags) - 1, size):
        last = min(first + size, len(flags) - 1)
        differ = following[first:last] != observations[first + 1 : last + 1]
        flags[first:last] &= differ.any(axis=1)


def flagged(flags: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Numbers of the flagged rows, of some rows at a time: all of them may not fit into memory."""
    for first in range(0, len(flags), size):
        yield first + np.flatnonzero(flags[first : first + size])


def shuffled(data: Dataset, odd: np.ndarray) -> bool:
    """More rows are odd than a border or a few wrong numbers can explain."""
    return len(odd) > SHUFFLED * compared_count(data)


def agree(data: Dataset, rows: np.ndarray, shift: int) -> np.ndarray:
    """Where next_observations[row] is observations[row + shift]."""
    tolerance = SAME * np.nan_to_num(data.observation_statistics[1])
    same_rows = np.empty(len(rows), bool)
    size = block_size(data)
    for first in range(0, len(rows), size):
        block = rows[first : first + size]
        following, expected = data.next_observations[block], data.observations[block + shift]
        same = np.abs(following - expected) <= tolerance
        same_rows[first : first + size] = (same | (following == expected)).all(axis=1)
    return same_rows


def block_size(data: Dataset) -> int:
    """Rows compared at once."""
    return max(1, BLOCK_NUMBERS // data.observation_dim)


def shift_of(data: Dataset, odd: np.ndarray) -> int | None:
    """The off-by-one that explains nearly all odd rows, a key of `SHIFTS`."""
    for shift in SHIFTS:
        rows = odd[(odd + shift >= 0) & (odd + shift < len(data))]
        if len(rows) and agree(data, rows, shift).mean() > 0.9:
            return shift
    return None


def continuity(data: Dataset) -> Check:
    """Jumps between neighbouring observations of one episode, far beyond the usual step."""
    if data.next_action_valid.sum() < LEAST_STEPS:
        return passed("continuity", "too few rows to know the usual step")
    jumps = jump_rows(data)
    if len(jumps) == 0:
        return passed("continuity", "no jump between neighbouring observations")
    message = f"{len(jumps):,} steps inside episodes are more than {JUMP:g} times the usual one"
    remedy = (
        f"an episode border is missing behind these rows, or the sensor jumped; "
        f"set borders there: {command('continuity')}"
    )
    return found("continuity", "warn", message, remedy, jumps)


def jump_rows(data: Dataset) -> np.ndarray:
    """Rows whose step to the next one of their episode is far beyond the usual."""
    limit = step_bound(data)
    if limit is None:
        return np.zeros(0, np.int64)
    found_rows = []
    for first, block in blocks_of(data.observations, block_size(data)):
        behind = data.observations[first + len(block) : first + len(block) + 1]
        step = np.abs(np.diff(block, axis=0, append=behind))
        inside = data.next_action_valid[first : first + len(step)]
        found_rows.append(first + np.flatnonzero((step > limit).any(axis=1) & inside))
    return np.concatenate(found_rows)


def step_bound(data: Dataset) -> np.ndarray | None:
    """The largest step of each dimension that is no jump; None where there are too few rows to know."""
    usual = survey(data).usual_step
    if usual is None:
        return None
    return np.where(usual > 0, JUMP * usual, np.inf)  # what rarely moves has no usual step


def duplicate_episodes(data: Dataset) -> Check:
    """Episodes that repeat an earlier one."""
    copies = repeated_episodes(data, survey(data).edges)
    if len(copies) == 0:
        return passed("duplicate_episodes", "no episode appears twice")
    message = f"{len(copies):,} of {data.episode_count:,} episodes are copies of an earlier one"
    remedy = (
        f"they count twice and break held-out checks; drop them: {command('duplicate_episodes')}"
    )
    return found("duplicate_episodes", "warn", message, remedy, data.episode_starts[copies])
