"""Check the heaps in which HDF5 keeps text, before libhdf5 walks them.

libhdf5 walks a heap object by object without checking that each one moves it forward: a damaged size of zero makes it
walk for ever. The layout is in the HDF5 file format specification, section III.E ("Global Heap").
"""

from __future__ import annotations

import functools
import mmap
import os
import struct

from rlassay.errors import DatasetError

SIGNATURE = b"GCOL\x01\x00\x00\x00"
_HEAP_HEADER = 16  # signature, version, reserved, size
_OBJECT_HEADER = 16  # index, references, reserved, size


def check_heaps(path: str) -> None:
    """Refuse a file with a heap that cannot be walked to its end."""
    status = os.stat(path)
    if not _sound(path, status.st_ino, status.st_size, status.st_mtime_ns):
        raise DatasetError(
            f"the text in {path} is damaged",
            remedy="fetch or write the file again, or leave out its text",
        )


@functools.lru_cache(maxsize=32)
def _sound(path: str, *_identity: int) -> bool:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(SIGNATURE)
        while start >= 0:
            if not _can_be_walked(content, start):
                return False
            start = content.find(SIGNATURE, start + 1)
    return True


def _can_be_walked(content: mmap.mmap, start: int) -> bool:
    """Every object lies in the heap and moves on; free space ends it."""
    if start + _HEAP_HEADER > len(content):
        return False
    (size,) = struct.unpack_from("<Q", content, start + 8)
    position, end = start + _HEAP_HEADER, start + size
    if size < _HEAP_HEADER or end > len(content):
        return False
    while end - position >= _OBJECT_HEADER:
        index, length = struct.unpack_from("<H6xQ", content, position)
        step = _OBJECT_HEADER + (length + 7) // 8 * 8 if index else length
        if not _OBJECT_HEADER <= step <= end - position:
            return False
        position += step
    return True
