"""From what a reader found to a `Dataset`: the rules that all formats share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.blocks import Matrix, beside
from rlassay.data.dataset import Dataset, Note, Origin
from rlassay.data.references import reference_for
from rlassay.errors import DatasetError
from rlassay.formats.guards import json_value
from rlassay.formats.options import ReadOptions
from rlassay.words import suggest

UNBOUNDED = 1e30  # spaces without bounds state infinity or the largest float
NO_REWARDS = Note(
    "rewards_missing",
    "the source holds no rewards",
    "add rewards when recording, or use the scores that need none",
)
ENDS_UNKNOWN = Note(
    "ends_unknown",
    "the source does not say why its episodes end; they end with neither flag",
    "record terminals and timeouts for value scores",
)
DONES_AS_TERMINALS = Note(
    "dones_as_terminals",
    "the source has one `done` flag for every end; it is read as terminal",
    "store terminals and timeouts apart, or name the step limit with --max-episode-steps",
)


def assemble(
    columns: Mapping[str, Any],
    options: ReadOptions,
    *,
    source: object,
    format_name: str,
    env_id: str | None = None,
    bounds: tuple[Any, Any] | None = None,
    notes: Sequence[Note] = (),
    metadata: Mapping[str, Any] | None = None,
    extras: Mapping[str, np.ndarray] | None = None,
    reference: tuple[float, float] | None = None,
) -> Dataset:
    """Settle ends and origin, then build the Dataset.

    `columns` are those of `Dataset.from_columns`, or `dones` in the place of `terminals` where the source has one
    flag for every kind of end.
    """
    columns = dict(columns)
    env_id = _writable(options.env_id or env_id)
    all_notes = [*notes, *_settle_ends(columns, options, env_id)]
    if columns.get("rewards") is None:
        columns["rewards"] = None
        all_notes.append(NO_REWARDS)
    low, high = usable_bounds(bounds, columns["actions"])
    kept = json_value(dict(metadata or {}))
    if options.max_episode_steps:
        kept["max_episode_steps"] = options.max_episode_steps
    origin = Origin(
        source=str(source),
        format=format_name,
        env_id=env_id,
        action_low=low,
        action_high=high,
        notes=tuple(all_notes),
        metadata=kept,
        extras=extras or {},
        reference=reference,
    )
    return Dataset.from_columns(**columns, origin=origin)


def _writable(name: str | None) -> str | None:
    """A name that every format can hold: no NUL, no half of a character."""
    return name and name.replace("\0", "?").encode("utf-8", "replace").decode()


def left_out(names: Iterable[str], options: ReadOptions) -> list[Note]:
    """For `convert`: what the source holds and the internal form has no place for."""
    known = sorted(names) if options.extras else []
    return [Note("left_out", f"not carried along: {', '.join(known)}")] if known else []


def usable_bounds(bounds: Any, actions: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Bounds that are finite, ordered and one per action dimension; else none: a file may state nonsense."""
    if bounds is None or bounds[0] is None or bounds[1] is None:
        return None, None
    actions = checks.as_array("actions", actions)
    shape = (actions.shape[1] if actions.ndim > 1 else 1,)
    try:
        low, high = (np.broadcast_to(np.asarray(b, float).ravel(), shape).copy() for b in bounds)
    except (TypeError, ValueError):
        return None, None
    if not ((np.abs([low, high]) < UNBOUNDED).all() and (low <= high).all()):
        return None, None
    kind = np.int64 if actions.dtype.kind in "iub" else np.result_type(actions.dtype, np.float32)
    return low.astype(kind), high.astype(kind)


def join_vectors(
    parts: Mapping[str, Matrix], options: ReadOptions, what: str = "observations"
) -> tuple[Any, list[Note]]:
    """A dict of vectors as one matrix, in the sorted order of its keys, or in the order the caller names."""
    keys = chosen_keys(parts, options, what)
    matrices = [_as_vectors(key, parts[key]) for key in keys]
    rows = {len(part) for part in matrices}
    if len(rows) > 1:
        raise checks.ShapeError(f"the parts of the {what} differ in length", got=sorted(rows))
    if len(keys) == 1:
        return matrices[0], []
    note = Note("joined", f"{what} join the vectors {', '.join(keys)} in this order")
    return beside(matrices), [note]


def chosen_keys(parts: Mapping[str, Any], options: ReadOptions, what: str) -> list[str]:
    """The keys to join, sorted unless the caller named them."""
    wanted = options.observation_keys if what == "observations" else None
    unknown = [key for key in wanted or () if key not in parts]
    if unknown or not parts:
        meant = suggest(unknown[0], parts) if unknown else ""
        raise DatasetError(
            f"unknown key of the {what}{meant}", allowed=sorted(parts), got=unknown or "none"
        )
    return list(wanted) if wanted else sorted(parts)


def refuse_image(key: str, shape: Sequence[int]) -> DatasetError:
    """The error for an observation that is no vector."""
    return DatasetError(
        f"{key!r} holds arrays of shape {tuple(shape)} in each row",
        allowed="one vector a row",
        remedy="encode images as vectors first, or name the vectors to read with --observation-keys",
    )


def _as_vectors(key: str, part: Any) -> Matrix:
    array = checks.as_array(key, part)
    if array.ndim > 2:
        raise refuse_image(key, array.shape[1:])
    return array[:, None] if array.ndim == 1 else array


def _settle_ends(columns: dict[str, Any], options: ReadOptions, env_id: str | None) -> list[Note]:
    """Turn `dones` into flags and cut episodes at the step limit, where the source lacks timeouts."""
    rows = checks.row_count(columns["observations"])
    notes = []
    limit = options.max_episode_steps
    if "dones" in columns:
        columns["terminals"] = checks.flags("dones", columns.pop("dones"), rows)
        notes.append(DONES_AS_TERMINALS)
    elif columns.get("timeouts") is None and columns.get("episode_starts") is None:
        reference = reference_for(env_id)
        limit = limit or (reference.horizon if reference else None)
        notes.append(_timeouts_missing(limit))
    if limit:
        _cut_at(limit, columns, rows, merged=DONES_AS_TERMINALS in notes)
    return notes


def _timeouts_missing(limit: int | None) -> Note:
    done = f"episodes are cut after {limit:,} steps" if limit else "episodes end at terminals alone"
    return Note(
        "timeouts_missing",
        f"the source has no timeouts; {done}",
        "store timeouts, or name the step limit with --max-episode-steps",
    )


def _cut_at(limit: int, columns: dict[str, Any], rows: int, *, merged: bool) -> None:
    """Every `limit`-th step of an episode is a timeout; with one merged flag, an end there is a timeout too."""
    if limit < 1:
        raise DatasetError("max_episode_steps must be positive", got=limit)
    terminals = checks.flags("terminals", columns["terminals"], rows)
    timeouts = columns.get("timeouts")
    timeouts = (
        np.zeros(rows, bool) if timeouts is None else checks.flags("timeouts", timeouts, rows)
    )
    starts = checks.episode_starts(terminals | timeouts, columns.get("episode_starts"))
    step = np.arange(rows) - np.repeat(starts, np.diff(np.append(starts, rows)))
    at_limit = step % limit == limit - 1
    if merged:
        terminals = terminals & ~at_limit
    columns["terminals"], columns["timeouts"] = terminals, timeouts | (at_limit & ~terminals)


def empty_note(episodes: list[int]) -> list[Note]:
    """What to say of episodes that hold no transition."""
    if not episodes:
        return []
    first = ", ".join(str(episode) for episode in episodes[:20])
    message = f"{len(episodes):,} episodes hold no transition: number {first}"
    return [Note("empty_episodes", message, "drop them when recording; they add no rows")]
