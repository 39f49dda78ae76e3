"""One face for everything that holds named columns: HDF5, `.npz`, folders of `.npy`, Parquet, CSV, JSON lines.

A container lists its columns and reads one by its name. Which column is what is not its business.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import numpy as np

from rlassay.errors import DatasetError
from rlassay.formats import npy
from rlassay.formats.guards import Budget, compression, first_bytes, plain_file, refusing

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
PARQUET_SIGNATURE = b"PAR1"
TABLE_SUFFIXES = (".parquet", ".json", ".jsonl", ".csv")
FILE_LIMIT = 100_000  # files of one table


class Container(Protocol):
    """Named columns of equal length, read one by one."""

    kind: str

    def names(self) -> list[str]: ...
    def read(self, name: str) -> np.ndarray | None: ...
    def __enter__(self) -> Container: ...
    def __exit__(self, *_: object) -> None: ...


def open_container(path: Path, budget: Budget) -> Container:
    """The container at a path, told by its first bytes."""
    kind = container_kind(path)
    if kind == "npy":
        return npy.Folder(path, budget)
    if kind == "npz":
        return npy.Archive(path, budget)
    if kind == "hdf5":
        from rlassay.formats.hdf5_columns import Hdf5Columns

        return Hdf5Columns(path, budget)
    if kind in ("parquet", "csv", "json"):
        return _table(path, kind, budget)
    raise DatasetError(
        f"{path} holds no columns that a map could name",
        allowed="HDF5, .npz, folders of .npy, Parquet, CSV, JSON lines",
    )


def _table(path: Path, kind: str, budget: Budget) -> Container:
    files = table_files(path)
    if kind == "parquet":
        from rlassay.formats.tables import ParquetColumns

        return ParquetColumns(files, budget)
    if kind == "csv":
        from rlassay.formats.csv_table import CsvColumns

        return CsvColumns(files, budget)
    from rlassay.formats.json_lines import JsonColumns

    return JsonColumns(files, budget)


def container_kind(path: Path) -> str | None:
    """hdf5, npz, npy, parquet, csv or json; None for anything else."""
    if path.is_dir():
        if next(path.glob("*.npy"), None) is not None:
            return "npy"
        files = table_files(path)
        return container_kind(files[0]) if files else None
    with refusing(path, "a dataset"), open(plain_file(path), "rb") as file:
        head = file.read(4_096)
    if head.startswith(npy.ZIP_SIGNATURES):
        return "npz"
    if head.startswith(HDF5_SIGNATURE) or late_signature(path):
        return "hdf5"
    if head.startswith(PARQUET_SIGNATURE):
        return "parquet"
    return _kind_of_text(path, head)


def _kind_of_text(path: Path, head: bytes) -> str | None:
    if compression(head):
        head = first_bytes(path)
    text = head.lstrip()
    if text.startswith(b"{"):
        return "json"
    if text.startswith(b"version https://git-lfs"):
        raise DatasetError(
            f"{path} is a pointer of Git LFS, not the data itself",
            remedy="fetch the data with: git lfs pull",
        )
    line = head.split(b"\n", 1)[0]
    readable = b"\0" not in head and _is_text(head)
    return "csv" if readable and any(mark in line for mark in (b",", b";", b"\t")) else None


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 4  # cut inside a character
    return True


def table_files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder that holds one table; those below it when it holds none itself."""
    if not path.is_dir():
        return [path]
    found: dict[str, list[Path]] = {suffix: [] for suffix in TABLE_SUFFIXES}
    for pattern in ("*", "*/*"):
        for file in path.glob(pattern):
            if file.suffix in found and not file.name.startswith((".", "_")):
                found[file.suffix].append(file)
        listed = next((files for files in found.values() if files), [])
        if listed:
            if len(listed) > FILE_LIMIT:
                raise DatasetError(f"{path} holds too many files", allowed=FILE_LIMIT)
            return sorted(listed)
    return []


def late_signature(path: Path) -> bool:
    """HDF5 allows a user block of 512, 1024, ... bytes before its signature."""
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        offset = 512
        while offset < min(size, 2**20):
            file.seek(offset)
            if file.read(8) == HDF5_SIGNATURE:
                return True
            offset *= 2
    return False
