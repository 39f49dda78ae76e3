"""Arrays in NumPy's own format, read without pickle and measured before they are read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from rlassay.data.blocks import BLOCK_BYTES, BlockColumn, Matrix, blocks_of
from rlassay.errors import DatasetError
from rlassay.formats.guards import Budget, plain_file, refusing
from rlassay.formats.spilled import flat_rows, unpacked_rows

SIGNATURE = b"\x93NUMPY"
ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
MEMBER_LIMIT = 1_000  # arrays in one archive
EXPANSION_LIMIT = 1_100  # deflate reaches 1,032
TEXT_LIMIT = 2**20  # bytes of a text array
_READ_HEADER = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


class Archive:
    """An `.npz` file: names of its arrays, each read when asked for."""

    kind = "npz"

    def __init__(self, path: Path, budget: Budget):
        self.path, self.budget = path, budget
        with refusing(path, "an .npz archive"):
            self._zip = zipfile.ZipFile(plain_file(path))
        infos = self._zip.infolist()
        self._members = {
            i.filename.removesuffix(".npy"): i for i in infos if i.filename.endswith(".npy")
        }
        if len(infos) > MEMBER_LIMIT or len(self._members) != len(infos):
            raise DatasetError(
                f"{path} is not an archive of arrays",
                allowed=f"at most {MEMBER_LIMIT} members, all .npy, each once",
                got=", ".join(i.filename for i in infos[:5]) + f" ({len(infos)} members)",
                remedy="where it packs a dataset, unpack it first and name what is inside",
            )

    def names(self) -> list[str]:
        return list(self._members)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str) -> np.ndarray | None:
        """One array, or None when the archive has no such member."""
        info = self._members.get(name)
        if info is None:
            return None
        self._check_packing(name, info)
        with refusing(self.path, "an .npz archive"), self._zip.open(info) as stream:
            return read_array(stream, info.file_size, name, self.budget)

    def _check_packing(self, name: str, info: zipfile.ZipInfo) -> None:
        """Refuse what unpacks to more than deflate can, before it is unpacked."""
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DatasetError(
                f"{name} in {self.path} is packed in an unknown way", allowed="stored or deflated"
            )
        if info.file_size > EXPANSION_LIMIT * info.compress_size + 1_024:
            raise DatasetError(
                f"{name} in {self.path} claims {info.file_size:,} bytes packed into {info.compress_size:,}",
                remedy="the archive is damaged or hostile",
            )

    def column(self, name: str) -> Matrix | None:
        """An archive is packed as a whole: a matrix is unpacked once, into a file that ends with the column."""
        info = self._members[name]
        self._check_packing(name, info)
        with refusing(self.path, "an .npz archive"), self._zip.open(info) as stream:
            shape, by_columns, dtype = read_header(stream, info.file_size, name)
            if len(shape) != 2 or shape[1] < 2 or by_columns:
                return self.read(name)
            return unpacked_rows(iter(lambda: stream.read(BLOCK_BYTES), b""), shape, dtype)

    def stored_bytes(self, names: Iterable[str]) -> int:
        """What these members take in memory."""
        return sum(self._members[name].file_size for name in names)


class Folder:
    """A folder of `.npy` files, with the same face as an archive."""

    kind = "npy"

    def __init__(self, path: Path, budget: Budget):
        self.path, self.budget = path, budget
        self._members = {file.stem: file for file in sorted(path.glob("*.npy"))}

    def names(self) -> list[str]:
        return list(self._members)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, name: str) -> np.ndarray | None:
        """One array, or None when the folder has no such file."""
        file = self._members.get(name)
        if file is None:
            return None
        with refusing(file, "a .npy file"), open(plain_file(file), "rb") as stream:
            return read_array(stream, file.stat().st_size, name, self.budget)

    def column(self, name: str) -> Matrix | None:
        """A matrix that stays in its file; anything else as `read` gives it."""
        file = self._members[name]
        with refusing(file, "a .npy file"), open(plain_file(file), "rb") as stream:
            shape, by_columns, dtype = read_header(stream, file.stat().st_size, name)
            offset = stream.tell()
        if len(shape) != 2 or shape[1] < 2 or by_columns:
            return self.read(name)
        return flat_rows(file, shape, dtype, offset)

    def stored_bytes(self, names: Iterable[str]) -> int:
        """What these files take in memory."""
        return sum(self._members[name].stat().st_size for name in names)


def read_array(stream: IO[bytes], size: int, name: str, budget: Budget) -> np.ndarray:
    """One array from a stream of `size` bytes."""
    shape, by_columns, dtype = read_header(stream, size, name)
    expected = math.prod(shape) * dtype.itemsize
    budget.take(expected, name)
    flat = np.empty(math.prod(shape), dtype)
    if expected:
        _fill(stream, flat.view(np.uint8).data)
    return flat.reshape(shape, order="F" if by_columns else "C")


def read_header(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type; the header must promise exactly what follows it in a stream of `size` bytes."""
    reader = _READ_HEADER.get(npy_format.read_magic(stream))
    if reader is None:
        raise DatasetError(f"{name} has an unknown version of NumPy's format", allowed="1.0, 2.0")
    shape, by_columns, dtype = reader(stream)
    expected = math.prod(shape) * dtype.itemsize
    _check_type(name, dtype, expected)
    if expected != size - stream.tell():
        raise DatasetError(
            f"{name} promises {expected:,} bytes and holds {size - stream.tell():,}",
            remedy="the file is damaged or incomplete; fetch or write it again",
        )
    return shape, by_columns, dtype


def _check_type(name: str, dtype: np.dtype, size: int) -> None:
    if dtype.kind in "fiub" or (dtype.kind in "US" and size <= TEXT_LIMIT):
        return
    raise DatasetError(
        f"{name} has the type {dtype}",
        allowed="numbers",
        remedy="object arrays need pickle, which can run code and is never loaded; save numbers",
    )


def _fill(stream: IO[bytes], target: memoryview) -> None:
    """Read until the target is full; a short stream is an error."""
    done = 0
    while done < len(target):
        count = stream.readinto(target[done : done + 2**20])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the data ends early")
        done += count


def write_archive(path: Path, arrays: Mapping[str, Matrix]) -> None:
    """An `.npz` that `numpy.load` reads; object arrays are refused by NumPy itself."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                if isinstance(array, BlockColumn):
                    _write_blocks(stream, array)
                else:
                    npy_format.write_array(stream, np.asarray(array), allow_pickle=False)


def _write_blocks(stream: IO[bytes], column: BlockColumn) -> None:
    """The bytes that `write_array` would write, block by block."""
    described = npy_format.dtype_to_descr(column.dtype)
    header = {"descr": described, "fortran_order": False, "shape": column.shape}
    npy_format.write_array_header_1_0(stream, header)
    for _, block in blocks_of(column):
        stream.write(block.tobytes())
