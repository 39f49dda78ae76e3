"""Columns that stay on the disk: their rows are read in blocks, so that data may be larger than memory.

A `BlockColumn` has the shape, the type and the indexing of an array; what is asked of all its rows is answered block by
block. Flags and rewards, one number a row, are always arrays; so are matrices of one dimension.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

BLOCK_BYTES = 8 * 2**20
KEPT_BLOCKS = 2  # a step from one row to the next may need two at once
Read = Callable[[int, int], np.ndarray]  # rows from the first to before the second


class BlockColumn:
    """A matrix with one row a transition that is read from its file when asked."""

    ndim = 2
    __array_ufunc__ = None  # arithmetic with all rows at once is a mistake, not a silent reading

    def __init__(self, read: Read, shape: tuple[int, int], dtype: Any, aligned: int = 1):
        """`aligned` rows are stored together, so that blocks are whole multiples of them."""
        self.shape, self.dtype = shape, np.dtype(dtype)
        wanted = max(1, BLOCK_BYTES // max(1, shape[1] * self.dtype.itemsize))
        self.block_rows = max(1, wanted // aligned) * aligned
        self.follows: BlockColumn | None = None  # whose next rows these are
        self._read = read
        self._kept: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def _block(self, number: int) -> np.ndarray:
        if number not in self._kept:
            while len(self._kept) >= KEPT_BLOCKS:
                del self._kept[next(iter(self._kept))]
            first = number * self.block_rows
            block = self._read(first, min(first + self.block_rows, len(self)))
            kept = self._kept[number] = np.ascontiguousarray(block, self.dtype)
            kept.flags.writeable = False
        return self._kept[number]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The rows of a range."""
        if stop <= start:
            return np.empty((0, self.shape[1]), self.dtype)
        first, last = start // self.block_rows, (stop - 1) // self.block_rows
        if first == last:
            offset = first * self.block_rows
            return self._block(first)[start - offset : stop - offset]
        found = np.empty((stop - start, self.shape[1]), self.dtype)
        for number in range(first, last + 1):
            low = max(start, number * self.block_rows)
            high = min(stop, (number + 1) * self.block_rows)
            offset = number * self.block_rows
            found[low - start : high - start] = self._block(number)[low - offset : high - offset]
        return found

    def __getitem__(self, key: Any) -> np.ndarray:
        if isinstance(key, tuple):
            return self[key[0]][(slice(None), *key[1:])]
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self.rows(start, stop)
            key = np.arange(start, stop, step)
        if isinstance(key, int | np.integer):
            place = int(key) + (len(self) if key < 0 else 0)
            return self.rows(place, place + 1)[0]
        index = np.asarray(key)
        return self._gathered(np.flatnonzero(index) if index.dtype == bool else index)

    def _gathered(self, index: np.ndarray) -> np.ndarray:
        """Named rows, block after block."""
        index = np.where(index < 0, index + len(self), index)
        ordered = len(index) < 2 or bool((index[1:] >= index[:-1]).all())
        order = None if ordered else np.argsort(index, kind="stable")
        wanted = index if order is None else index[order]
        found = np.empty((len(index), self.shape[1]), self.dtype)
        numbers = wanted // self.block_rows
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        for part in np.split(np.arange(len(wanted)), cuts) if len(wanted) else []:
            number = int(numbers[part[0]])
            rows = self._block(number)[wanted[part] - number * self.block_rows]
            found[part if order is None else order[part]] = rows
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Everything at once, for what cannot do with less: refused where it does not fit."""
        from rlassay.data.memory import available_memory
        from rlassay.errors import DatasetError

        if self.nbytes > available_memory():
            raise DatasetError(
                "this needs all rows at once, and they do not fit into memory",
                allowed=f"{available_memory():,} bytes",
                got=f"{self.nbytes:,}",
                remedy="use a part of the data: rlassay curate PATH --keep 0.1 --by return -o PART",
            )
        found = self.rows(0, len(self))
        return found if dtype is None else found.astype(dtype)

    @functools.cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        parts = [(block.min(axis=0), block.max(axis=0)) for _, block in blocks_of(self)]
        return np.min([low for low, _ in parts], axis=0), np.max(
            [high for _, high in parts], axis=0
        )

    def min(self, axis: int) -> np.ndarray:
        """Smallest number of each dimension; `axis` is 0."""
        return self._bounds[axis]

    def max(self, axis: int) -> np.ndarray:
        """Largest number of each dimension; `axis` is 0."""
        return self._bounds[axis + 1]

    def remember_bounds(self, low: np.ndarray, high: np.ndarray) -> None:
        """Whoever has met all rows anyway saves a later reading."""
        self.__dict__["_bounds"] = (low, high)

    def astype(self, dtype: Any) -> BlockColumn:
        """The same rows in another type, turned when they are read."""
        return BlockColumn(
            lambda start, stop: self.rows(start, stop).astype(dtype), self.shape, dtype
        )


Matrix = np.ndarray | BlockColumn


def blocks_of(column: Any, rows: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """First row and content of every block, whatever the column is; of an array they are views."""
    if rows is None:
        width = int(np.prod(column.shape[1:])) * column.dtype.itemsize
        rows = getattr(column, "block_rows", None) or max(1, BLOCK_BYTES // max(1, width))
    size = int(rows or 1)
    for first in range(0, len(column), size):
        yield first, column[first : first + size]


def mean_and_deviation(column: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Of each dimension, in float64; block by block the same additions in the same order as NumPy makes at once."""
    if isinstance(column, np.ndarray):
        return column.mean(axis=0, dtype=np.float64), column.std(axis=0, dtype=np.float64)
    count = len(column)
    mean = _sum(block.astype(np.float64) for _, block in blocks_of(column)) / count
    squares = _sum(np.square(block - mean) for _, block in blocks_of(column)) / count
    return mean, np.sqrt(squares)


def _sum(blocks: Iterator[np.ndarray]) -> np.ndarray:
    """Row by row, as NumPy adds along the first axis of several columns."""
    total: np.ndarray | None = None
    for block in blocks:
        if total is not None:
            block[0] += total
        total = np.add.reduce(block, axis=0)
    return cast("np.ndarray", total)


def following_rows(observations: BlockColumn, known: np.ndarray) -> BlockColumn:
    """The next row of each; its own where the successor is not known."""
    count = len(observations)

    def read(start: int, stop: int) -> np.ndarray:
        own = observations.rows(start, min(stop + 1, count))
        found = own[1:]
        if len(found) < stop - start:  # the last row has no next
            found = np.concatenate([found, own[-1:]])
        unknown = ~known[start:stop]
        if unknown.any():
            found = found.copy()
            found[unknown] = own[: stop - start][unknown]
        return found

    found = BlockColumn(read, observations.shape, observations.dtype, observations.block_rows)
    found.follows = observations
    return found


def patched(column: Matrix, rows: np.ndarray, values: np.ndarray) -> Matrix:
    """The column with these rows, in ascending order, replaced."""
    if isinstance(column, np.ndarray):
        changed = column.copy()
        changed[rows] = values
        return changed

    def read(start: int, stop: int) -> np.ndarray:
        low, high = np.searchsorted(rows, [start, stop])
        part = column.rows(start, stop)
        if low < high:
            part = part.copy()
            part[rows[low:high] - start] = values[low:high]
        return part

    return BlockColumn(read, column.shape, column.dtype, column.block_rows)


def mapped(column: Matrix, change: Callable[[np.ndarray], np.ndarray]) -> Matrix:
    """The column with every row changed alike."""
    if isinstance(column, np.ndarray):
        return change(column)
    return BlockColumn(
        lambda start, stop: change(column.rows(start, stop)),
        column.shape,
        column.dtype,
        column.block_rows,
    )


def kept_rows(column: Any, keep: np.ndarray) -> Any:
    """The rows that are flagged."""
    if not isinstance(column, BlockColumn):
        return column[keep]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    return selected_rows(column, starts, stops - starts)


def chosen_rows(column: Any, rows: np.ndarray) -> Any:
    """The named rows; of what stays on the disk as a column of their own, which stays there, too."""
    if not isinstance(column, BlockColumn):
        return column[rows]
    begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    return selected_rows(column, rows[begins], np.diff(np.append(begins, len(rows))))


def spans_of(column: Any, starts: np.ndarray, lengths: np.ndarray) -> Any:
    """Spans of rows, one behind the other."""
    if isinstance(column, BlockColumn):
        return selected_rows(column, starts, lengths)
    return column[span_rows(starts, lengths)]


def span_rows(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Row numbers of spans: `starts[0], starts[0] + 1, ...` for `lengths[0]` rows, then those of the next."""
    begins = np.cumsum(lengths) - lengths
    return np.repeat(starts - begins, lengths) + np.arange(int(lengths.sum()))


def beside(columns: Sequence[Matrix]) -> Matrix:
    """Columns of the same rows as one wide one."""
    if not any(isinstance(column, BlockColumn) for column in columns):
        return np.concatenate(columns, axis=1)  # type: ignore[arg-type]

    def read(start: int, stop: int) -> np.ndarray:
        return np.concatenate([column[start:stop] for column in columns], axis=1)

    shape = (len(columns[0]), sum(column.shape[1] for column in columns))
    return BlockColumn(read, shape, np.result_type(*(column.dtype for column in columns)))


def joined_rows(columns: Sequence[Matrix]) -> BlockColumn:
    """Columns of one width behind each other, as one."""
    stops = np.cumsum([len(column) for column in columns])
    begins = np.concatenate([[0], stops[:-1]])

    def read(start: int, stop: int) -> np.ndarray:
        first, last = np.searchsorted(stops, [start, stop - 1], side="right")
        parts = [
            columns[k][max(start - begins[k], 0) : min(stop, stops[k]) - begins[k]]
            for k in range(int(first), int(last) + 1)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    width = columns[0].shape[1]
    return BlockColumn(read, (int(stops[-1]), width), columns[0].dtype)


def selected_rows(column: BlockColumn, starts: np.ndarray, lengths: np.ndarray) -> BlockColumn:
    """Spans of rows, one behind the other, as a column of their own."""
    stops = np.cumsum(lengths)
    begins = stops - lengths

    def read(start: int, stop: int) -> np.ndarray:
        first, last = np.searchsorted(stops, [start, stop - 1], side="right")
        found = np.empty((stop - start, column.shape[1]), column.dtype)
        for span in range(int(first), int(last) + 1):
            low = max(start - int(begins[span]), 0)
            high = min(stop - int(begins[span]), int(lengths[span]))
            place = int(begins[span]) + low - start
            # copied at once: a view would keep its whole block, and every span may lie in another one
            found[place : place + high - low] = column.rows(
                int(starts[span]) + low, int(starts[span]) + high
            )
        return found

    return BlockColumn(read, (int(lengths.sum()), column.shape[1]), column.dtype)
