"""What a column must look like before it enters a `Dataset`, and the one form it then has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlassay.data.blocks import BlockColumn, Matrix, following_rows
from rlassay.errors import DatasetError


class ShapeError(DatasetError):
    """Columns that were read but do not fit together: `inspect` reports it as a failed check."""


def row_count(observations: Any) -> int:
    """The number of transitions; an empty dataset is refused."""
    array = as_array("observations", observations)
    if array.ndim == 0:
        raise ShapeError("observations are a single number", allowed="one vector a row")
    if len(array) == 0:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    return len(array)


def matrix(name: str, values: Any, rows: int, *, integers: bool) -> Any:
    """(rows, dimensions) of floats, or of integers where `integers` allows them."""
    array = _native(name, values, rows)
    if isinstance(array, np.ndarray) and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ShapeError(
            f"{name} have shape {array.shape}",
            allowed="one vector a row: (rows, dimensions)",
            remedy="images and nested observations are not scored; encode them as vectors first",
        )
    if array.shape[1] == 0:
        raise ShapeError(f"{name} have no dimension", remedy="check the file's columns")
    if integers and array.dtype.kind in "iub":
        return array.astype(np.int8) if array.dtype.kind == "b" else array
    return _floating(array)


def vector(name: str, values: Any, rows: int) -> np.ndarray:
    """(rows,) of floats."""
    return _floating(_flat(name, values, rows))


def flags(name: str, values: Any, rows: int) -> np.ndarray:
    """(rows,) of bool, from bool or from the numbers 0 and 1."""
    array = _flat(name, values, rows)
    if array.dtype == np.bool_:
        return array
    as_flags = array != 0
    if not np.array_equal(as_flags, array):
        raise DatasetError(
            f"{name} are not flags", allowed="0 and 1", got=f"{array.min()} to {array.max()}"
        )
    return as_flags


def episode_starts(ends: np.ndarray, given: Sequence[int] | np.ndarray | None) -> np.ndarray:
    """First rows of the episodes: behind every end, and wherever `given` begins another one."""
    starts = np.concatenate([[0], np.flatnonzero(ends[:-1]) + 1]).astype(np.int64)
    if given is None:
        return starts
    named: np.ndarray = as_array("episode starts", given).astype(np.int64)
    ordered = named.ndim == 1 and len(named) > 0 and named[0] == 0 and (np.diff(named) > 0).all()
    if not ordered or named[-1] >= len(ends):
        raise DatasetError(
            "episode starts are not increasing row numbers from 0",
            remedy="an empty or overlapping episode is in the source; name each first row once",
        )
    return np.union1d(starts, named)


def successors(
    observations: Matrix, following: Any, valid: Any, starts: np.ndarray
) -> tuple[Matrix | Callable[[], np.ndarray], np.ndarray]:
    """Next observations and where they are known; an unknown one repeats its own row.

    Where the source stores none they are a function, because they double the memory and many uses need them not.
    """
    rows = len(observations)
    if following is None:
        known = np.ones(rows, bool)
        known[np.append(starts[1:], rows) - 1] = False
        if isinstance(observations, BlockColumn):
            return following_rows(observations, known), known
        return functools.partial(_next_rows, observations, known), known
    following = _like("next_observations", following, observations)
    known = np.ones(rows, bool) if valid is None else flags("next_valid", valid, rows)
    if known.all():
        return following, known
    if isinstance(following, BlockColumn) or isinstance(observations, BlockColumn):
        return _repeating_blocks(following, observations, known), known
    return _repeating(following.copy(), observations, known), known


def _repeating_blocks(following: Matrix, observations: Matrix, known: np.ndarray) -> BlockColumn:
    def read(start: int, stop: int) -> np.ndarray:
        part, own = following[start:stop].copy(), observations[start:stop]
        return _repeating(part, own, known[start:stop])

    return BlockColumn(read, following.shape, following.dtype)  # type: ignore[arg-type]


def _next_rows(observations: np.ndarray, known: np.ndarray) -> np.ndarray:
    return _repeating(np.append(observations[1:], observations[-1:], 0), observations, known)


def _repeating(following: np.ndarray, observations: np.ndarray, known: np.ndarray) -> np.ndarray:
    following[~known] = observations[~known]
    return following


def as_array(name: str, values: Any) -> Any:
    """An array of numbers; ragged lists, text and objects are refused. A column that stays on disk is left there."""
    try:
        array = values if isinstance(values, BlockColumn) else np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise DatasetError(
            f"{name} have the type {array.dtype}",
            allowed="numbers",
            remedy="ragged, text or object columns cannot be scored; store one vector of numbers a row",
        )
    return array


def _like(name: str, values: Any, model: Matrix) -> Any:
    array = matrix(name, values, len(model), integers=False)
    if array.shape != model.shape:
        raise ShapeError(
            f"{name} and observations differ in shape", allowed=model.shape, got=array.shape
        )
    return array


def _flat(name: str, values: Any, rows: int) -> np.ndarray:
    array = _native(name, values, rows)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ShapeError(f"{name} have shape {array.shape}", allowed="(rows,) or (rows, 1)")
    return array


def _native(name: str, values: Any, rows: int) -> Any:
    array = as_array(name, values)
    if array.ndim == 0 or len(array) != rows:
        raise ShapeError(
            f"{name} have {len(array) if array.ndim else 0:,} rows and observations {rows:,}",
            remedy="every column needs one entry a transition",
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _floating(array: Any) -> Any:
    """float32 and float64 stay; others become the smaller of the two that holds them."""
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float64 if array.dtype.itemsize > 2 else np.float32)
