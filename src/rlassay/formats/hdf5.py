"""HDF5 with the doors closed: nothing outside the file is followed, nothing is read before it is measured.

libhdf5 follows external links, external storage and virtual datasets on its own, and fills what was never written. So
every object is reached link by link through `child`, and every dataset passes `check_dataset` before its bytes are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5o  # type: ignore[attr-defined]

from rlassay.data.blocks import BlockColumn, Matrix, blocks_of
from rlassay.errors import DatasetError
from rlassay.formats import chunks
from rlassay.formats.chunks import check_heaps
from rlassay.formats.guards import Budget, json_value, plain_file, refusing

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MEMBER_LIMIT = 2_000_000  # links in one group
DEPTH_LIMIT = 16  # chains of soft links and of virtual sources
CHUNK_LIMIT = 2**30  # bytes of one decompressed chunk
ATTRIBUTE_LIMIT = 2**20  # bytes of one attribute that is kept
EXPANSION_LIMIT = 2_000  # deflate reaches 1,032
FREE_FILL = 64 * 2**20  # bytes that a dataset may leave unwritten


@contextmanager
def opened(path: Path, format_name: str = "HDF5") -> Iterator[h5py.File]:
    """The file, read-only; whatever libhdf5 raises inside the block becomes a DatasetError."""
    with refusing(path, format_name), h5py.File(plain_file(path), "r") as file:
        yield file


def names(group: h5py.Group) -> list[str]:
    """The members of a group, bounded."""
    if len(group) > MEMBER_LIMIT:
        raise DatasetError(
            f"{group.name} has too many members", allowed=MEMBER_LIMIT, got=len(group)
        )
    return list(group)


def child(group: h5py.Group, name: str, depth: int = 0) -> h5py.Group | h5py.Dataset | None:
    """A member of a group, or None. Soft links are followed inside the file; external links are refused."""
    link = group.get(name, getlink=True)
    if link is None:
        return None
    if isinstance(link, h5py.SoftLink) and depth < DEPTH_LIMIT:
        start = group.file if link.path.startswith("/") else group
        return _walk(start, link.path, depth + 1)
    if not isinstance(link, h5py.HardLink):
        raise _outside(group, name, "an external link or an endless chain of links")
    found = group[name]
    return found if isinstance(found, h5py.Group | h5py.Dataset) else None


def _walk(group: h5py.Group, path: str, depth: int) -> h5py.Group | h5py.Dataset | None:
    found: Any = group
    for part in (piece for piece in path.split("/") if piece not in ("", ".")):
        found = child(found, part, depth) if isinstance(found, h5py.Group) else None
    return found


def read(group: h5py.Group, name: str, budget: Budget) -> np.ndarray | None:
    """A numeric dataset of a group as an array; None when there is no such member."""
    dataset = child(group, name)
    if dataset is None:
        return None
    if not isinstance(dataset, h5py.Dataset):
        raise DatasetError(f"{name} is a group", allowed="a dataset of numbers")
    check_dataset(dataset, budget)
    return dataset[()] if dataset.is_virtual else chunks.read(dataset)


def column(group: h5py.Group, name: str, budget: Budget) -> Matrix | None:
    """A matrix that stays in the file; anything else, and what cannot be read in parts, as `read` gives it."""
    dataset = child(group, name)
    if not isinstance(dataset, h5py.Dataset) or not _has_rows(dataset):
        return read(group, name, budget)
    check_dataset(dataset, Budget(budget.source, counting=False))
    if not chunks.in_parts(dataset):
        return read(group, name, budget)
    rows = StoredRows(Path(dataset.file.filename), str(dataset.name))
    aligned = dataset.chunks[0] if dataset.chunks else 1
    return BlockColumn(rows.read, dataset.shape, dataset.dtype, aligned)


def _has_rows(dataset: h5py.Dataset) -> bool:
    numbers = dataset.dtype.kind in "fiub" and not dataset.is_virtual
    return numbers and len(dataset.shape or ()) == 2 and dataset.shape[1] > 1


class StoredRows:
    """Rows of a dataset that passed its checks; the file is opened when the first are asked for, and stays open."""

    def __init__(self, path: Path, name: str):
        self.path, self.name = path, name
        self._rows: chunks.Rows | None = None

    def read(self, start: int, stop: int) -> np.ndarray:
        with refusing(self.path, "HDF5"):
            if self._rows is None:
                self._rows = chunks.Rows(h5py.File(plain_file(self.path), "r")[self.name])
            return self._rows.read(start, stop)


def write_column(file: h5py.File, name: str, column: Matrix, **options: Any) -> None:
    """A dataset of these rows; a column that stays on the disk is copied in blocks of whole chunks."""
    if isinstance(column, np.ndarray):
        file.create_dataset(name, data=column, **options)
        return
    target = file.create_dataset(name, column.shape, column.dtype, **options)
    tall = target.chunks[0] if target.chunks else 1
    for first, block in blocks_of(column, max(1, column.block_rows // tall) * tall):
        target[first : first + len(block)] = block


def stored_bytes(group: h5py.Group, names: Iterable[str]) -> int:
    """What these members take in memory."""
    found = [child(group, name) for name in names]
    return sum(
        (one.size or 0) * one.dtype.itemsize for one in found if isinstance(one, h5py.Dataset)
    )


def check_dataset(dataset: h5py.Dataset, budget: Budget, depth: int = 0) -> None:
    """Refuse what is not numbers, lies outside the file, or is larger than the file can hold."""
    if dataset.dtype.kind not in "fiub" or dataset.shape is None:
        raise DatasetError(
            f"{dataset.name} has the type {dataset.dtype}",
            allowed="numbers",
            remedy="ragged, text or object columns cannot be scored; store one vector of numbers a row",
        )
    if dataset.external:
        raise _outside(dataset, "", "external storage")
    if dataset.is_virtual:
        _check_virtual(dataset, budget, depth)
    else:
        _check_written(dataset)
    budget.take(dataset.size * dataset.dtype.itemsize, str(dataset.name))


def _check_virtual(dataset: h5py.Dataset, budget: Budget, depth: int) -> None:
    for source in dataset.virtual_sources():
        inside = source.file_name == "." and "%" not in source.dset_name and depth < DEPTH_LIMIT
        target = _walk(dataset.file, source.dset_name, 0) if inside else None
        if not isinstance(target, h5py.Dataset):
            raise _outside(dataset, "", "a virtual dataset with sources outside the file")
        check_dataset(target, budget, depth + 1)
        chunks.verify(target)


def _check_written(dataset: h5py.Dataset) -> None:
    """A shape far beyond the stored bytes would make libhdf5 fill memory for minutes."""
    size, stored = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if size > EXPANSION_LIMIT * stored + FREE_FILL:
        raise DatasetError(
            f"{dataset.name} claims {size:,} bytes and stores {stored:,}",
            remedy="the file is damaged or incomplete; fetch or write it again",
        )
    if dataset.chunks is None:
        return
    chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
    count = math.prod(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True))
    if chunk > CHUNK_LIMIT or count > max(100_000, stored):
        raise DatasetError(
            f"{dataset.name} has {count:,} chunks of {chunk:,} bytes and stores {stored:,}",
            remedy="the file is damaged or incomplete; fetch or write it again",
        )
    chunks.check_chunks(dataset)


Leaf = tuple[
    str, h5py.Group, str, h5py.Dataset
]  # path, the group it lies in, its name there, itself


def leaves(group: h5py.Group, prefix: str = "", seen: set[int] | None = None) -> Iterator[Leaf]:
    """Every dataset below a group that lies in the file itself."""
    seen = _once(group, seen)
    for name in names(group):
        item = child(group, name)
        if isinstance(item, h5py.Group):
            yield from leaves(item, f"{prefix}{name}/", seen)
        elif item is not None:
            yield f"{prefix}{name}", group, name, item


def _once(group: h5py.Group, seen: set[int] | None) -> set[int]:
    """The groups met so far; one that is reached twice could make the walk endless."""
    seen = set() if seen is None else seen
    address = h5o.get_info(group.id).addr
    if address in seen:
        raise DatasetError(
            f"the group {group.name} lies inside itself or in two places",
            remedy="copy the data into one file without such links, for example with `h5repack`",
        )
    seen.add(address)
    return seen


def attributes(item: h5py.Group | h5py.Dataset) -> dict[str, Any]:
    """The attributes that JSON can hold and that are small."""
    found = {}
    for name in item.attrs:
        kind = item.attrs.get_id(name)
        if (
            kind.shape is not None
            and math.prod(kind.shape) * kind.dtype.itemsize <= ATTRIBUTE_LIMIT
        ):
            _check_text(item, kind.dtype)
            found[name] = json_value(item.attrs[name])
    return found


def text(group: h5py.Group, name: str) -> str | None:
    """A scalar or one-element dataset as text; None when it is absent or large."""
    dataset = child(group, name)
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None or dataset.size != 1:
        return None
    if dataset.external or dataset.is_virtual or dataset.dtype.itemsize > ATTRIBUTE_LIMIT:
        return None
    _check_text(dataset, dataset.dtype)
    chunks.check_plain(dataset)
    value = json_value(np.asarray(dataset[()]).ravel()[0])
    return None if value is None else str(value)


def strings(group: h5py.Group, name: str) -> list[str]:
    """A short dataset of byte strings, as robomimic's masks."""
    dataset = child(group, name)
    if (
        not isinstance(dataset, h5py.Dataset)
        or dataset.shape is None
        or dataset.dtype.kind not in "SO"
    ):
        raise DatasetError(f"{group.name}/{name} is not a list of names")
    stored = dataset.id.get_storage_size()
    if dataset.external or dataset.is_virtual or (dataset.size or 0) > max(stored, 100_000):
        raise DatasetError(f"{group.name}/{name} is not a plain list of names", got=dataset.shape)
    _check_text(dataset, dataset.dtype)
    chunks.check_plain(dataset)
    values = np.asarray(dataset[()]).ravel().tolist()
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]


def audit(group: h5py.Group, budget: Budget, seen: set[int] | None = None) -> None:
    """Check everything below a group, for a library that will read it by itself. Soft links are refused here."""
    seen = _once(group, seen)
    for name in names(group):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise _outside(group, name, "a link")
        item = group[name]
        if isinstance(item, h5py.Group):
            audit(item, budget, seen)
        elif isinstance(item, h5py.Dataset) and item.dtype.kind in "fiub":
            check_dataset(item, budget)
            chunks.verify(item)
        elif isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            raise _outside(group, name, "external storage")
        elif isinstance(item, h5py.Dataset):
            _check_text(item, item.dtype)
            chunks.check_plain(item)


def _check_text(item: h5py.Group | h5py.Dataset, dtype: np.dtype) -> None:
    if dtype.hasobject:
        check_heaps(item.file.filename)


def _outside(item: h5py.Group | h5py.Dataset, name: str, kind: str) -> DatasetError:
    return DatasetError(
        f"{item.name}{'/' if name else ''}{name} is {kind}, which is not followed",
        allowed="data stored in the file itself",
        remedy="copy the data into one file, for example with `h5repack`",
    )
