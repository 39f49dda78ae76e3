"""The rules of `repair`, in the order in which they are applied. A rule bears the name of the check it answers.

Each takes a dataset and returns what it changed; the checks' own functions say where, so that both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlassay.data.blocks import Matrix, mapped, patched
from rlassay.data.dataset import Dataset
from rlassay.data.duplicates import repeated_episodes
from rlassay.inspection import structure, values
from rlassay.inspection.survey import survey
from rlassay.repair.rebuild import first_rows, rebuilt, with_borders

ActionsMode = Literal["clip", "rescale"]
PASSES = 20  # over jumps: a border changes the usual step a little


@dataclass(frozen=True)
class How:
    """Choices that the data does not settle."""

    actions: str = "clip"  # one of `ActionsMode`: how actions come back inside their bounds
    cut_by_reader: int = 0  # timeouts that the reader set at the step limit already


@dataclass(frozen=True)
class Change:
    """What a rule did: the data after it, and how many rows and episodes it concerned."""

    data: Dataset
    rows: int = 0
    episodes: int = 0
    message: str = "nothing to do"


def finite(data: Dataset, how: How) -> Change:
    """Drop rows with NaN or infinity and cut their episodes there; a successor alone is computed again."""
    found = survey(data).not_finite
    bad = found["observations"] | found["actions"] | found["rewards"]
    lost = found["next_observations"] & data.next_valid & ~bad
    if bad.all():
        return Change(data, message="not applied: no row would be left")
    if not (bad | lost).any():
        return Change(data)
    following, valid = data.next_observations, data.next_valid.copy()
    known = np.flatnonzero(lost & data.next_action_valid & ~np.append(bad[1:], True))
    if lost.any():
        valid[lost], valid[known] = False, True
        following = patched(following, known, data.observations[known + 1])
    after = rebuilt(data, keep=~bad, next_observations=following, next_valid=valid)
    message = f"{bad.sum():,} rows dropped, {lost.sum():,} next observations computed again"
    concerned = np.flatnonzero(bad | lost)
    return Change(after, len(concerned), _episodes(data, concerned), message)


def alignment(data: Dataset, how: How) -> Change:
    """Next observations from the order of the rows, where they are shifted or wrong; else the border that is missing."""
    odd = values.misaligned_rows(data)
    if len(odd) == 0:
        return Change(data)
    many = len(odd) > values.MANY * values.compared_count(data)
    shift = values.shift_of(data, odd)
    if many and shift is not None:
        after = rebuilt(data, next_observations=None, next_valid=None)
        message = f"{values.SHIFTS[shift]}: the whole column is computed again"
        return Change(after, len(odd), _episodes(data, odd), message)
    if values.shuffled(data, odd):
        return Change(data, message="not applied: the rows seem to be shuffled")
    wrong = odd[_stored_is_wrong(data, odd)]
    following = patched(data.next_observations, wrong, data.observations[wrong + 1])
    borders = np.setdiff1d(odd, wrong)
    after = with_borders(rebuilt(data, next_observations=following), borders)
    message = f"{len(wrong):,} computed again, {len(borders):,} borders set"
    return Change(after, len(odd), _episodes(data, odd), message)


def _stored_is_wrong(data: Dataset, rows: np.ndarray) -> np.ndarray:
    """The next row is the nearer successor, or the stored one is the row itself; else a border is missing."""
    here = data.observations[rows]
    stored = _distance(data, data.next_observations[rows] - here)
    return values.agree(data, rows, 0) | (
        _distance(data, data.observations[rows + 1] - here) < stored
    )


def _distance(data: Dataset, step: np.ndarray) -> np.ndarray:
    deviation = data.observation_statistics[1]
    scaled = step / np.where(deviation > 0, deviation, 1.0)
    return np.sqrt((scaled.astype(np.float64) ** 2).sum(axis=1))


def double_ends(data: Dataset, how: How) -> Change:
    """Ends on two rows in a row: the one-step episode joins the one that it continues, or that continues it."""
    single = data.episode_starts[data.episode_lengths == 1]
    single = single[single > 0]
    if not structure.few_are_short(data):
        return Change(data, message="not applied: most episodes have one step")
    backward = single[_continues(data, single - 1)]
    rest = np.setdiff1d(single, backward)
    rest = rest[(rest < len(data) - 1) & data.next_valid[rest]]
    forward = rest[values.agree(data, rest, 1)]
    cleared = np.concatenate([backward - 1, forward])
    if len(cleared) == 0:
        return Change(data)
    first = first_rows(data)
    terminals, timeouts = data.terminals.copy(), data.timeouts.copy()
    first[cleared + 1] = False
    terminals[cleared] = timeouts[cleared] = False
    after = rebuilt(data, begins=first, terminals=terminals, timeouts=timeouts)
    message = f"{len(cleared):,} ends beside another end taken back"
    return Change(after, len(cleared), len(cleared), message)


def _continues(data: Dataset, rows: np.ndarray) -> np.ndarray:
    """Where the next row continues this one: its stored successor says so, or, unknown, the step is a usual one."""
    bound = values.step_bound(data)
    step = np.abs(data.observations[rows + 1] - data.observations[rows])
    usual = np.zeros(len(rows), bool) if bound is None else (step <= bound).all(axis=1)
    return np.where(data.next_valid[rows], values.agree(data, rows, 1), usual)


def continuity(data: Dataset, how: How) -> Change:
    """Borders where the observations jump."""
    after, count = data, 0
    for _ in range(PASSES):
        jumps = values.jump_rows(after)
        if len(jumps) == 0:
            break
        count += len(jumps)
        after = with_borders(after, jumps)
    if count == 0:
        return Change(data)
    return Change(after, count, after.episode_count - data.episode_count, f"{count:,} borders set")


def episode_lengths(data: Dataset, how: How) -> Change:
    """Borders at the step limit."""
    limit = structure.step_limit(data)
    long = structure.long_episodes(data)
    cut = how.cut_by_reader
    if len(long) == 0 and not cut:
        return Change(data)
    step = np.arange(len(data)) - np.repeat(data.episode_starts, data.episode_lengths)
    at_limit = data.next_action_valid & (step % (limit or len(data)) == (limit or 0) - 1)
    rows = np.flatnonzero(at_limit)
    after = with_borders(data, rows) if len(rows) else data
    message = f"{len(rows) + cut:,} borders set after {limit:,} steps"
    return Change(after, len(rows) + cut, len(long) or cut, message)


def unfinished_episodes(data: Dataset, how: How) -> Change:
    """Ends with neither flag become timeouts; the very last row is the usual cut of a recording."""
    ends = structure.open_ends(data)
    ends = ends[ends < len(data) - 1]
    if len(ends) == 0:
        return Change(data)
    timeouts = data.timeouts.copy()
    timeouts[ends] = True
    after = rebuilt(data, timeouts=timeouts)
    return Change(after, len(ends), len(ends), f"{len(ends):,} ends marked as timeouts")


def end_flags(data: Dataset, how: How) -> Change:
    """The reader keeps the terminal of a row with both flags; here it is counted."""
    note = next((note for note in data.origin.notes if note.code == "both_flags"), None)
    if note is None:
        return Change(data)
    count = len(note.rows)
    return Change(data, count, count, f"{count:,} rows keep the terminal alone")


def action_bounds(data: Dataset, how: How) -> Change:
    """Actions back inside the bounds that the source states."""
    low, high, stated = data.action_bounds()
    outside = np.flatnonzero(values.beyond_bounds(data) > values.ROUNDING)
    if not stated or len(outside) == 0:
        return Change(data)
    if data.discrete_actions:
        return Change(data, message="not applied: whole numbers have no nearest bound")
    if how.actions == "rescale":
        actions = _rescaled(data.actions, low, high)
        concerned, message = len(data), "all actions rescaled to the bounds"
    else:
        clipped = np.clip(data.actions[outside], low, high)
        actions = patched(data.actions, outside, clipped)
        concerned, message = len(outside), f"{len(outside):,} actions clipped"
    return Change(rebuilt(data, actions=actions), concerned, _episodes(data, outside), message)


def _rescaled(actions: Matrix, low: np.ndarray, high: np.ndarray) -> Matrix:
    """Dimensions that leave their bounds are mapped linearly, their own range onto the stated one."""
    least, most = actions.min(axis=0), actions.max(axis=0)
    wide = ((least < low) | (most > high)) & (most > least)
    least, most = np.minimum(least, low), np.maximum(most, high)
    span = np.where(wide, most - least, 1)

    def rescale(rows: np.ndarray) -> np.ndarray:
        moved = low + (rows - least) / span * (high - low)
        return np.where(wide, np.clip(moved, low, high), rows).astype(rows.dtype)

    return mapped(actions, rescale)


def duplicate_episodes(data: Dataset, how: How) -> Change:
    """Drop episodes that repeat an earlier one."""
    return _without(data, repeated_episodes(data), "copies of an earlier one dropped")


def short_episodes(data: Dataset, how: How) -> Change:
    """Drop one-step episodes, unless they are what the task is made of."""
    single = np.flatnonzero(data.episode_lengths == 1)
    if len(single) and not structure.few_are_short(data):
        return Change(data, message="not applied: most episodes have one step")
    return _without(data, single, "episodes of one step dropped")


def _without(data: Dataset, episodes: np.ndarray, what: str) -> Change:
    if len(episodes) == 0:
        return Change(data)
    keep = ~np.isin(data.episode_index, episodes)
    rows = int((~keep).sum())
    return Change(rebuilt(data, keep=keep), rows, len(episodes), f"{len(episodes):,} {what}")


def _episodes(data: Dataset, rows: np.ndarray) -> int:
    return len(np.unique(data.episode_index[rows]))


RULES = {
    rule.__name__: rule
    for rule in (
        end_flags,
        finite,
        alignment,
        double_ends,
        continuity,
        episode_lengths,
        unfinished_episodes,
        action_bounds,
        duplicate_episodes,
        short_episodes,
    )
}
