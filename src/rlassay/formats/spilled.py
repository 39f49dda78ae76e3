"""Rows in a flat file: a `.npy` as it lies on the disk, and a temporary copy of what can only be unpacked as a whole."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.blocks import BlockColumn, Matrix
from rlassay.errors import DatasetError
from rlassay.formats.guards import refusing, temporary_folder

SHARE_OF_DISK = 0.9  # of what is free


def flat_rows(file: Path, shape: Any, dtype: Any, offset: int = 0) -> BlockColumn:
    """Rows of a file that holds them one behind the other, from `offset` on."""
    return _rows_at(os.open(file, os.O_RDONLY), file, shape, dtype, offset)


def _rows_at(descriptor: int, name: object, shape: Any, dtype: Any, offset: int) -> BlockColumn:
    width = math.prod(shape[1:]) * np.dtype(dtype).itemsize

    def read(start: int, stop: int) -> np.ndarray:
        with refusing(name, "a file of rows"):
            content = _read_at(descriptor, (stop - start) * width, offset + start * width)
        return np.frombuffer(content, dtype).reshape(stop - start, *shape[1:])

    column = BlockColumn(read, tuple(shape), dtype)
    weakref.finalize(column, os.close, descriptor)
    return column


def _read_at(descriptor: int, size: int, offset: int) -> bytearray:
    content = bytearray(size)
    view, done = memoryview(content), 0
    while done < size:
        count = os.preadv(descriptor, [view[done:]], offset + done)
        if count == 0:
            raise EOFError("the data ends early")
        done += count
    return content


def require_space(size: int) -> None:
    """Refuse what would fill the disk of temporary files."""
    folder = temporary_folder()
    free = shutil.disk_usage(folder).free
    if size > SHARE_OF_DISK * free:
        raise DatasetError(
            "the data is too large for memory and, unpacked, for the disk of temporary files",
            allowed=f"{int(SHARE_OF_DISK * free):,} bytes in {folder}",
            got=f"{size:,}",
            remedy="name another folder with $TMPDIR, or allow more with --memory",
        )


class Gathered:
    """Named columns from parts that come one behind the other; matrices may go into temporary files."""

    def __init__(self, *, to_disk: int | None = None):
        """`to_disk` is how many bytes are expected; None keeps them in memory."""
        self.to_disk = to_disk is not None
        if to_disk is not None:
            require_space(to_disk)
        self._parts: dict[str, list[np.ndarray]] = {}
        self._files: dict[str, _Growing] = {}

    def add(self, name: str, part: np.ndarray) -> None:
        """The next rows of a column, which go where its first went: of another shape they are refused there."""
        first = name not in self._files and name not in self._parts
        if first and self.to_disk and part.ndim == 2 and part.shape[1] > 1:
            self._files[name] = _Growing(name, part)
        if name in self._files:
            self._files[name].add(part)
        else:
            self._parts.setdefault(name, []).append(part)

    def names(self) -> list[str]:
        return [*self._parts, *self._files]

    def column(self, name: str) -> Matrix:
        """All rows of a column."""
        if name in self._files:
            return self._files[name].column()
        return np.concatenate(self._parts[name])


class _Growing:
    """A temporary file of rows without a name: it vanishes with the column, or with the process."""

    def __init__(self, name: str, like: np.ndarray):
        self.name, self.dtype, self.width, self.rows = name, like.dtype, like.shape[1], 0
        # without a buffer: what does not fit on the disk is told here, and not once more when the file is forgotten
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (it lives as long as the column)

    def add(self, part: np.ndarray) -> None:
        if part.dtype != self.dtype or part.shape[1:] != (self.width,):
            raise DatasetError(
                f"{self.name} differ in width or type inside the dataset",
                allowed=f"{self.width} of {self.dtype}",
                got=f"{part.shape[1:]} of {part.dtype}",
            )
        left = memoryview(part.tobytes())
        while left:
            left = left[self._file.write(left) :]
        self.rows += len(part)

    def column(self) -> BlockColumn:
        shape = (self.rows, self.width)
        return _rows_at(os.dup(self._file.fileno()), "a temporary file", shape, self.dtype, 0)


def unpacked_rows(parts: Iterable[bytes], shape: Any, dtype: Any) -> BlockColumn:
    """The bytes of these rows in a temporary file, which has no name: it ends with the column, or with the process."""
    require_space(math.prod(shape) * np.dtype(dtype).itemsize)
    with tempfile.TemporaryFile() as file:
        for part in parts:
            file.write(part)
        expected, found = math.prod(shape) * np.dtype(dtype).itemsize, file.tell()
        if found != expected:
            raise DatasetError(
                f"a column promises {expected:,} bytes and holds {found:,}",
                remedy="the file is damaged or incomplete; fetch or write it again",
            )
        file.flush()
        return _rows_at(os.dup(file.fileno()), "a temporary file", shape, dtype, 0)
