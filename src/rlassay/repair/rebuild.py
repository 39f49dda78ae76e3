"""A dataset with some columns replaced, further borders, or fewer rows; everything else stays bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.data.blocks import kept_rows
from rlassay.data.dataset import COLUMNS, Dataset
from rlassay.inspection.values import agree


def rebuilt(
    data: Dataset,
    *,
    keep: np.ndarray | None = None,
    begins: np.ndarray | None = None,
    **columns: Any,
) -> Dataset:
    """`keep` and `begins` are flags a row: which rows stay, and which ones begin an episode.

    Where rows vanish from inside an episode it is cut there: the row before is a timeout, for it would have gone on.
    """
    whole: dict[str, Any] = {name: columns.get(name, getattr(data, name)) for name in COLUMNS}
    first = first_rows(data) if begins is None else begins
    if keep is not None:
        whole["timeouts"] = whole["timeouts"] | _cut_ends(keep, first, whole["terminals"])
        begun = first | np.append(False, ~keep[:-1])
        first = _moved_to_kept(begun, keep)
        whole = {n: None if part is None else kept_rows(part, keep) for n, part in whole.items()}
    extras = {name: _kept(array, keep, len(data)) for name, array in data.origin.extras.items()}
    return Dataset.from_columns(
        **whole,
        episode_starts=np.flatnonzero(first),
        origin=replace(data.origin, notes=(), extras=extras),
    )


def first_rows(data: Dataset) -> np.ndarray:
    """True on the first row of every episode."""
    first = np.zeros(len(data), bool)
    first[data.episode_starts] = True
    return first


def _cut_ends(keep: np.ndarray, first: np.ndarray, terminals: np.ndarray) -> np.ndarray:
    """Kept rows whose successor in the episode vanishes."""
    follows = np.append(~first[1:], False)
    gone = np.append(~keep[1:], False)
    return keep & follows & gone & ~terminals


def _moved_to_kept(begun: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Of the kept rows, those that begin an episode: a beginning on a dropped row passes to the next kept one."""
    number = np.cumsum(begun)[keep]
    return np.append(True, np.diff(number) > 0)


def _kept(array: np.ndarray, keep: np.ndarray | None, rows: int) -> np.ndarray:
    """An array beside the columns follows them where it has one entry a row."""
    if keep is None or array.ndim == 0 or len(array) != rows:
        return array
    return kept_rows(array, keep)


def with_borders(data: Dataset, rows: np.ndarray) -> Dataset:
    """Episodes end at these rows as timeouts; a successor that only repeats the next row is unknown there."""
    rows = rows[rows < len(data) - 1]
    first = first_rows(data)
    first[rows + 1] = True
    timeouts, valid = data.timeouts.copy(), data.next_valid.copy()
    timeouts[rows] = True
    stored = rows[valid[rows]]
    valid[stored[agree(data, stored, 1)]] = False
    return rebuilt(data, begins=first, timeouts=timeouts, next_valid=valid)
