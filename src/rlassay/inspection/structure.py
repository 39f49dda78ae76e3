"""Checks of the form: columns, flags, ends, and the size of the whole."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlassay.data.dataset import COLUMNS, Dataset, Note
from rlassay.data.references import reference_for
from rlassay.inspection.results import Check, Status, command, found, passed

LEAST_TRANSITIONS, LEAST_EPISODES = 1_000, 10
LONG_WITHOUT_TIMEOUTS = 10_000  # steps; no common task runs so long unless its timeouts were lost
IMPOSSIBLE_RETURN = 3.0  # times the span from random to expert
OUTLYING_RETURN = 1_000.0  # times the median size of a return, where no reference is known
ONE_ENTRY = "write the columns again with one entry a transition in each"
HANDLED_NOTES = {"both_flags", "empty_episodes", "rewards_missing"}


def shapes(data: Dataset) -> Check:
    """One entry a transition in every column."""
    columns = {name: getattr(data, name) for name in COLUMNS}
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        message = "columns differ in length: " + ", ".join(f"{k} {n:,}" for k, n in lengths.items())
        return found("shapes", "fail", message, ONE_ENTRY)
    text = f"{len(data):,} transitions in {data.episode_count:,} episodes"
    kinds = f"observations of {data.observation_dim} ({data.observations.dtype})"
    actions = f"actions of {data.action_dim} ({data.actions.dtype})"
    return passed("shapes", f"{text}; {kinds}, {actions}")


def end_flags(data: Dataset) -> Check:
    """Rows that are terminal and timeout at once."""
    note = next((note for note in data.origin.notes if note.code == "both_flags"), None)
    if note is not None:
        remedy = f"write the terminal alone: {command('end_flags')}; or {note.remedy}"
        return found("end_flags", "warn", note.message, remedy, note.rows)
    terminals, timeouts = int(data.terminals.sum()), int(data.timeouts.sum())
    return passed("end_flags", f"{terminals:,} terminals and {timeouts:,} timeouts, never both")


def unfinished_episodes(data: Dataset) -> Check:
    """Episodes that end with neither flag; the very last one is the usual cut of a recording."""
    ends = open_ends(data)
    inner = ends[ends < len(data) - 1]
    if len(inner):
        message = f"{len(ends):,} of {data.episode_count:,} episodes end with neither flag"
        remedy = (
            f"record why an episode ended, or mark these as cut: {command('unfinished_episodes')}"
        )
        return found("unfinished_episodes", "warn", message, remedy, inner)
    tail = "the last one is unfinished" if len(ends) else "every episode ends with a flag"
    return passed("unfinished_episodes", tail)


def open_ends(data: Dataset) -> np.ndarray:
    """Last rows of episodes that carry neither flag."""
    last = data.episode_stops - 1
    return last[~(data.terminals | data.timeouts)[last]]


def episode_lengths(data: Dataset) -> Check:
    """Episodes longer than the task allows: timeouts were lost and episodes run into each other."""
    lengths = data.episode_lengths
    limit = step_limit(data)
    text = f"lengths from {lengths.min():,} to {lengths.max():,}, median {np.median(lengths):,.0f}"
    if limit is not None:
        long = long_episodes(data)
        if len(long):
            message = f"{len(long):,} episodes are longer than the task's {limit:,} steps ({text})"
            remedy = f"the timeouts are missing; cut there: {command('episode_lengths')}"
            return found("episode_lengths", "fail", message, remedy, data.episode_starts[long])
        return passed("episode_lengths", f"{text}; the task allows {limit:,}")
    long = np.flatnonzero(lengths > LONG_WITHOUT_TIMEOUTS)
    if len(long) and not data.timeouts.any():
        message = f"{len(long):,} episodes run for more than {LONG_WITHOUT_TIMEOUTS:,} steps and no row is a timeout ({text})"
        remedy = "the timeouts are missing; find the task's step limit and name it with --max-episode-steps"
        return found("episode_lengths", "warn", message, remedy, data.episode_starts[long])
    return passed("episode_lengths", text)


def step_limit(data: Dataset) -> int | None:
    """Steps of a full episode: what the reader was told or the file says, else the task family's."""
    stated = data.origin.metadata.get("max_episode_steps")
    if isinstance(stated, int) and stated > 0:
        return stated
    reference = reference_for(data.env_id)
    return reference.horizon if reference else None


def long_episodes(data: Dataset) -> np.ndarray:
    """Episodes beyond the step limit, where one is known."""
    limit = step_limit(data)
    return np.flatnonzero(data.episode_lengths > (np.inf if limit is None else limit))


def episode_returns(data: Dataset) -> Check:
    """Returns that no policy can reach."""
    if data.rewards is None:
        return passed("episode_returns", "no rewards, no returns")
    returns = data.episode_returns
    text = f"returns from {returns.min():,.6g} to {returns.max():,.6g}, mean {returns.mean():,.6g}"
    reference = reference_for(data.env_id)
    if reference is not None:
        ceiling = reference.low + IMPOSSIBLE_RETURN * (reference.high - reference.low)
        status: Status = "fail"
    else:
        size = float(np.median(np.abs(returns)))
        ceiling, status = OUTLYING_RETURN * size if size > 0 else np.inf, "warn"
    beyond = np.flatnonzero(returns > ceiling)
    if len(beyond) == 0:
        return passed("episode_returns", text)
    message = f"{len(beyond):,} episodes return more than {ceiling:,.6g} ({text})"
    remedy = "check the scale of the rewards and what was recorded in these episodes"
    if np.isin(beyond, long_episodes(data)).all():
        remedy = f"these episodes are joined; cut them: {command('episode_lengths')}"
    return found("episode_returns", status, message, remedy, data.episode_starts[beyond])


def short_episodes(data: Dataset) -> Check:
    """Episodes of one step or none."""
    note = next((note for note in data.origin.notes if note.code == "empty_episodes"), None)
    single = np.flatnonzero(data.episode_lengths == 1)
    if note is None and len(single) == 0:
        return passed("short_episodes", "every episode has at least two steps")
    parts = [f"{len(single):,} episodes have one step"] if len(single) else []
    message = "; ".join(parts + ([note.message] if note else []))
    remedy = "mark an end on its last row alone, if the task has longer episodes"
    if few_are_short(data):
        fix = command("double_ends", "short_episodes")
        remedy = f"flags in adjacent rows cut such episodes; merge or drop them: {fix}"
    return found("short_episodes", "warn", message, remedy, data.episode_starts[single])


def few_are_short(data: Dataset) -> bool:
    """One-step episodes are the exception here, not the task."""
    return 2 * int((data.episode_lengths == 1).sum()) < data.episode_count


def size(data: Dataset) -> Check:
    """Enough data for a value function and its held-out check."""
    text = f"{len(data):,} transitions, {data.episode_count:,} episodes"
    if len(data) >= LEAST_TRANSITIONS and data.episode_count >= LEAST_EPISODES:
        return passed("size", text)
    message = f"{text}: too few for the value scores"
    remedy = f"record at least {LEAST_TRANSITIONS:,} transitions in {LEAST_EPISODES} episodes; trust returns alone until then"
    return found("size", "warn", message, remedy)


def source_notes(data: Dataset) -> list[Check]:
    """What the reader had to say, one check a note; a note without a remedy is only information."""
    known = [*data.origin.notes, *unresolved_notes(data)]
    return [_from_note(note) for note in known if note.code not in HANDLED_NOTES]


def unresolved_notes(data: Dataset) -> list[Note]:
    """What `repair` could not settle in the source of this file and wrote down in it."""
    record = data.origin.metadata.get("repair")
    listed = record.get("unresolved") if isinstance(record, Mapping) else None
    return [
        Note(*(str(entry.get(key, "")) for key in ("code", "message", "remedy")), rows=())
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, Mapping)
    ]


def _from_note(note: Note) -> Check:
    name = f"source.{note.code}"
    if not note.remedy:
        return passed(name, note.message)
    return found(name, "warn", note.message, note.remedy, note.rows)
