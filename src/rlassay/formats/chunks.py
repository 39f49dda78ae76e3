"""Chunks of an HDF5 dataset, checked before libhdf5 unpacks them, or unpacked here.

libhdf5 trusts a chunk's stored size and its filters' parameters: a checksummed chunk of fewer than four bytes crashes
it, and a chunk that unpacks to less than it should is filled up with whatever lies in memory. So deflate, shuffle and
the checksum are undone here, LZF is measured first, and the rare filters run in a child process.

The heaps in which HDF5 keeps text are walked object by object without checking that each one moves forward: a damaged
size of zero makes libhdf5 walk for ever. So they are walked here first, by the HDF5 file format specification, section
III.E ("Global Heap").
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rlassay.errors import DatasetError
from rlassay.formats.guards import NO_ROOM, temporary_folder

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALE_OFFSET, LZF = 1, 2, 3, 4, 5, 6, 32_000
UNPACKED_HERE = {DEFLATE, SHUFFLE, FLETCHER32}
IN_A_CHILD = {SZIP, NBIT, SCALE_OFFSET}
KNOWN = UNPACKED_HERE | IN_A_CHILD | {LZF}
CHECKSUM = 4  # bytes at the end of a checksummed chunk
CHILD = """
import sys, resource, h5py, numpy
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[4]),) * 2)
with h5py.File(sys.argv[1], "r") as file:
    array = file[sys.argv[2]][()]
assert not array.dtype.hasobject
content = array.tobytes()
try:
    with open(sys.argv[3], "wb") as file:
        file.write(content)
except OSError as error:
    sys.exit(error.errno)
"""
CHILD_ROOM = 2**30  # bytes that the child may take beside the array
Filters = list[tuple[int, tuple[int, ...]]]
HEAP = b"GCOL\x01\x00\x00\x00"
_HEAP_HEADER = 16  # signature, version, reserved, size
_OBJECT_HEADER = 16  # index, references, reserved, size


def filters_of(dataset: h5py.Dataset) -> Filters:
    """The filters of a dataset in the order in which they packed it: number and parameters."""
    if dataset.chunks is None:
        return []
    plist = dataset.id.get_create_plist()
    found = [plist.get_filter(index) for index in range(plist.get_nfilters())]
    return [(int(code), tuple(int(v) for v in values)) for code, _, values, _ in found]


def check_chunks(dataset: h5py.Dataset) -> None:
    """Refuse unknown filters, parameters that do not fit the dataset, and chunks of impossible size."""
    filters = filters_of(dataset)
    item, size = dataset.dtype.itemsize, _chunk_bytes(dataset)
    for code, values in filters:
        if code not in KNOWN:
            raise DatasetError(
                f"{dataset.name} is packed with the HDF5 filter {code}, which is not read",
                allowed="deflate, LZF, shuffle, checksums, szip, n-bit, scale-offset",
                remedy="write it again with `h5repack -f GZIP=4 IN OUT`",
            )
        if (code == SHUFFLE and values[:1] != (item,)) or (code == LZF and values[2:3] != (size,)):
            raise _damaged(dataset, f"its filter {code} has the parameters {values}")
    if dataset.chunks is not None and not IN_A_CHILD & {code for code, _ in filters}:
        for info in stored_chunks(dataset):
            if not _possible(info, filters, size):
                raise _damaged(dataset, f"its chunk at {info.chunk_offset} holds {info.size} bytes")


def check_plain(dataset: h5py.Dataset) -> None:
    """Text is small and never packed by those who write it: a packed text is checked like numbers, or refused."""
    if dataset.chunks is not None and dataset.shape:
        check_chunks(dataset)
        verify(dataset)


def stored_chunks(dataset: h5py.Dataset) -> list[Any]:
    """Offset, filter mask and size of every stored chunk."""
    found: list[Any] = []
    dataset.id.chunk_iter(found.append)
    shape, chunks = dataset.shape or (), dataset.chunks or ()
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    if len(found) > count or len({info.chunk_offset for info in found}) != len(found):
        raise _damaged(dataset, f"it stores {len(found):,} chunks where {count:,} belong")
    for info in found:
        if any(o % c or o >= n for o, c, n in zip(info.chunk_offset, chunks, shape, strict=True)):
            raise _damaged(dataset, f"it stores a chunk at {info.chunk_offset}")
    return found


def _chunk_bytes(dataset: h5py.Dataset) -> int:
    return math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize


def _active(filters: Filters, mask: int) -> list[tuple[int, tuple[int, ...]]]:
    """A chunk may skip filters; a bit of its mask says so."""
    return [one for index, one in enumerate(filters) if not mask >> index & 1]


def _possible(info: Any, filters: Filters, size: int) -> bool:
    codes = [code for code, _ in _active(filters, info.filter_mask)]
    extra = CHECKSUM * codes.count(FLETCHER32)
    if DEFLATE in codes or LZF in codes:
        return extra < info.size <= size + size // 100 + 1_024
    return info.size == size + extra


def verify(dataset: h5py.Dataset) -> None:
    """Unpack every chunk and forget it: for a library that will read the dataset by itself."""
    filters = filters_of(dataset)
    if not filters:
        return
    if IN_A_CHILD & {code for code, _ in filters}:
        raise DatasetError(
            f"{dataset.name} is packed with a rare HDF5 filter",
            remedy="write it again with `h5repack -f GZIP=4 IN OUT`",
        )
    for info in stored_chunks(dataset):
        _unpacked(dataset, info, filters)


def read(dataset: h5py.Dataset) -> np.ndarray:
    """The whole dataset; its chunks have passed `check_chunks`."""
    filters = filters_of(dataset)
    codes = {code for code, _ in filters}
    if not filters or dataset.size == 0:
        return dataset[()]
    if codes & IN_A_CHILD:
        return _read_in_child(dataset)
    if LZF in codes or not _stored_as_numpy(dataset):
        verify(dataset)
        return dataset[()]
    return _read_here(dataset, filters)


def in_parts(dataset: h5py.Dataset) -> bool:
    """Whether some rows can be read without the others. LZF can only be measured, and is, before libhdf5 reads it."""
    codes = {code for code, _ in filters_of(dataset)}
    if codes & IN_A_CHILD:
        return False
    if codes and (LZF in codes or not _stored_as_numpy(dataset)):
        verify(dataset)
    return True


class Rows:
    """Ranges of rows of a matrix, each chunk unpacked here where `read` would do so."""

    def __init__(self, dataset: Any):
        self._dataset, self._filters = dataset, filters_of(dataset)
        codes = {code for code, _ in self._filters}
        self._here = bool(codes) and LZF not in codes and _stored_as_numpy(dataset)
        self._by_row: dict[int, list[Any]] = {}
        for info in stored_chunks(dataset) if self._here else ():
            self._by_row.setdefault(info.chunk_offset[0], []).append(info)

    def read(self, start: int, stop: int) -> np.ndarray:
        dataset = self._dataset
        if not self._here:
            return dataset[start:stop]
        found = np.full((stop - start, dataset.shape[1]), dataset.fillvalue, dataset.dtype)
        tall, wide = dataset.chunks
        for top in range(start - start % tall, stop, tall):
            low, high = max(start, top), min(stop, top + tall)
            for info in self._by_row.get(top, ()):
                block = np.frombuffer(_unpacked(dataset, info, self._filters), dataset.dtype)
                left = info.chunk_offset[1]
                part = block.reshape(tall, wide)[low - top : high - top, : found.shape[1] - left]
                found[low - start : high - start, left : left + wide] = part
        return found


def _stored_as_numpy(dataset: h5py.Dataset) -> bool:
    """Whether the bytes of an element are those of its NumPy type: not so for odd widths and enums."""
    kind = dataset.dtype
    return kind.kind in "fiu" and dataset.id.get_type().equal(h5py.h5t.py_create(kind))


def _read_here(dataset: h5py.Dataset, filters: Filters) -> np.ndarray:
    found = np.full(dataset.shape, dataset.fillvalue, dataset.dtype)
    for info in stored_chunks(dataset):
        block = np.frombuffer(_unpacked(dataset, info, filters), dataset.dtype)
        block = block.reshape(dataset.chunks)
        sizes = zip(info.chunk_offset, block.shape, found.shape, strict=True)
        place = tuple(slice(o, min(o + c, n)) for o, c, n in sizes)
        found[place] = block[tuple(slice(0, part.stop - part.start) for part in place)]
    return found


def _unpacked(dataset: h5py.Dataset, info: Any, filters: Filters) -> bytes | np.ndarray:
    """One chunk as it was before its filters; an LZF chunk is only measured."""
    size = _chunk_bytes(dataset)
    mask, raw = dataset.id.read_direct_chunk(info.chunk_offset)
    data: Any = raw
    for code, values in reversed(_active(filters, mask)):
        if code == FLETCHER32:
            data = _without_checksum(dataset, bytes(data))
        elif code == DEFLATE:
            data = _inflated(dataset, data, size)
        elif code == LZF:
            if _lzf_length(bytes(data)) != size:
                raise _damaged(dataset, "a chunk does not unpack to its size")
            return b""
        else:
            data = _unshuffled(data, values[0])
    if len(data) != size:
        raise _damaged(dataset, f"a chunk unpacks to {len(data):,} bytes instead of {size:,}")
    return data


def _inflated(dataset: h5py.Dataset, data: Any, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, size + 1_024)
    except zlib.error:
        raise _damaged(dataset, "a chunk is no deflated data") from None
    if not stream.eof:
        raise _damaged(dataset, "a chunk does not unpack to its size")
    return found


def _unshuffled(data: Any, width: int) -> bytes | np.ndarray:
    """Bytes of one rank lie together; what is left over at the end was not shuffled."""
    flat = np.frombuffer(data, np.uint8)
    whole = len(flat) // width * width
    if width <= 1 or whole <= width:
        return flat
    shuffled = flat[:whole].reshape(width, -1).T.ravel()
    return np.concatenate([shuffled, flat[whole:]])


def _without_checksum(dataset: h5py.Dataset, data: bytes) -> bytes:
    body, stored = data[:-CHECKSUM], data[-CHECKSUM:]
    wanted = fletcher32(body)
    given = {int.from_bytes(stored, "little"), int.from_bytes(_swapped(stored), "little")}
    if len(data) < CHECKSUM or not any(_same_sums(wanted, one) for one in given):
        raise _damaged(dataset, "a checksum does not fit")
    return body


def _swapped(stored: bytes) -> bytes:
    """HDF5 1.6.2 wrote the two bytes of each half in the other order."""
    return bytes((stored[1], stored[0], stored[3], stored[2])) if len(stored) == CHECKSUM else b""


def _same_sums(one: int, two: int) -> bool:
    """Sums modulo 65,535, in which 0 and 65,535 are the same."""
    return all((one >> s & 0xFFFF) % 65_535 == (two >> s & 0xFFFF) % 65_535 for s in (0, 16))


def fletcher32(body: bytes) -> int:
    """HDF5's checksum over big-endian words of 16 bits; a last odd byte counts as a high one."""
    words = np.frombuffer(body + b"\0" * (len(body) % 2), ">u2").astype(np.uint64)
    weights = np.arange(len(words), 0, -1, dtype=np.uint64) % np.uint64(65_535)
    low, high = int(words.sum() % 65_535), int((words * weights).sum() % 65_535)
    return high << 16 | low


def _lzf_length(data: bytes) -> int:
    """What an LZF stream unpacks to; -1 when it ends inside a token or points before its beginning."""
    position, length = 0, 0
    while position < len(data):
        control = data[position]
        if control < 32:
            position, length = position + control + 2, length + control + 1
            continue
        run, step = (control >> 5) + 2, 2
        if run == 9:
            run, step = run + (data[position + 1] if position + 1 < len(data) else 0), 3
        if position + step > len(data):
            return -1
        if ((control & 31) << 8 | data[position + step - 1]) + 1 > length:
            return -1
        position, length = position + step, length + run
    return length if position == len(data) else -1


def _read_in_child(dataset: h5py.Dataset) -> np.ndarray:
    """libhdf5 may crash on damaged parameters of these filters; then only the child ends."""
    expected = dataset.size * dataset.dtype.itemsize
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        target = Path(folder) / "column"
        words = (
            str(dataset.file.filename),
            str(dataset.name),
            str(target),
            str(4 * expected + CHILD_ROOM),
        )
        done = subprocess.run(
            [sys.executable, "-P", "-c", CHILD, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode in NO_ROOM:
            raise OSError(done.returncode, os.strerror(done.returncode))
        if done.returncode != 0 or target.stat().st_size != expected:
            raise _damaged(dataset, "its packed data cannot be unpacked")
        return np.fromfile(target, dataset.dtype).reshape(dataset.shape)


def _damaged(dataset: h5py.Dataset, how: str) -> DatasetError:
    return DatasetError(
        f"{dataset.name} is damaged: {how}",
        remedy="the file is damaged or incomplete; fetch or write it again",
    )


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
        start = content.find(HEAP)
        while start >= 0:
            if not _can_be_walked(content, start):
                return False
            start = content.find(HEAP, start + 1)
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
