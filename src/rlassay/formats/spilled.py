"""Rows in a flat file: a `.npy` as it lies on the disk, and a temporary copy of what can only be unpacked as a whole."""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.blocks import BlockColumn
from rlassay.errors import DatasetError
from rlassay.formats.guards import refusing


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


def unpacked_rows(parts: Iterable[bytes], shape: Any, dtype: Any) -> BlockColumn:
    """The bytes of these rows in a temporary file, which has no name: it ends with the column, or with the process."""
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
