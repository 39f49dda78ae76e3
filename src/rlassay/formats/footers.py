"""Stored sizes of Parquet columns, read from the footer itself.

pyarrow ends the whole process when it hands out the metadata of a column whose statistics contradict the schema, which
one flipped byte is enough for; reading the column then fails as it should. The footer is Thrift's compact encoding.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rlassay.errors import DatasetError

MAGIC = b"PAR1"
DEEPEST = 40  # structs in structs
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
# fields by number, as parquet.thrift has them
_ROW_GROUPS, _COLUMNS, _CHUNK_METADATA, _PATH, _UNCOMPRESSED = 4, 1, 3, 3, 6


def stored_sizes(path: Path) -> Counter[str]:
    """Uncompressed bytes by column (`outer.inner` for nested ones), over all row groups."""
    footer = _Compact(_footer(path))
    sizes: Counter[str] = Counter()
    for _ in footer.structs(_ROW_GROUPS):
        for _ in footer.structs(_COLUMNS):
            for _ in footer.struct(_CHUNK_METADATA):
                name, size = footer.column()
                sizes[name] += size
    return sizes


def _footer(path: Path) -> bytes:
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 8, 0))
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != MAGIC or length + 8 > end:
            raise DatasetError(f"{path} has no Parquet footer", remedy="fetch or write it again")
        file.seek(end - 8 - length)
        return file.read(length)


class _Compact:
    """A cursor over Thrift's compact encoding; whatever does not fit the bytes is an IndexError."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def column(self) -> tuple[str, int]:
        """Name and size of the column whose metadata begins here."""
        name, size = "", 0
        for field, kind in self.fields():
            if field == _PATH and kind == _LIST:
                count, _ = self.head()
                name = ".".join(self.text().decode(errors="replace") for _ in range(count))
            elif field == _UNCOMPRESSED and kind in _INTEGERS:
                size = self.integer()
            else:
                self.skip(kind)
        return name, max(size, 0)

    def structs(self, wanted: int) -> Iterator[None]:
        """Stop at the beginning of every struct in the list `wanted` of the struct that begins here."""
        for field, kind in self.fields():
            if field == wanted and kind == _LIST:
                count, _ = self.head()
                for _ in range(count):
                    yield
            else:
                self.skip(kind)

    def struct(self, wanted: int) -> Iterator[None]:
        """The same for a struct inside a struct."""
        for field, kind in self.fields():
            if field == wanted and kind == _STRUCT:
                yield
            else:
                self.skip(kind)

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of every field up to the end of a struct; the caller reads or skips each."""
        field = 0
        while head := self.byte():
            step = head >> 4
            field = field + step if step else self.integer()
            yield field, head & 15

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise IndexError("a number is too long")

    def integer(self) -> int:
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def text(self) -> bytes:
        length = self.unsigned()
        if self.at + length > len(self.data):
            raise IndexError("a text is too long")
        self.at += length
        return self.data[self.at - length : self.at]

    def head(self) -> tuple[int, int]:
        """Length and kind of a list's items."""
        head = self.byte()
        return (head >> 4 if head >> 4 != 15 else self.unsigned()), head & 15

    def skip(self, kind: int, depth: int = 0) -> None:
        """Step over a value that nobody asked for."""
        if depth > DEEPEST:
            raise IndexError("nested too deeply")
        if kind in _INTEGERS:
            self.unsigned()
        elif kind == _BYTE:
            self.byte()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self.text()
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (_LIST, _SET):
            count, inner = self.head()
            for _ in range(count):  # truth values take a byte each in a list
                self.skip(_BYTE if inner in (_TRUE, _FALSE) else inner, depth + 1)
        elif kind == _MAP:
            self._skip_map(depth)
        elif kind not in (_TRUE, _FALSE):
            raise IndexError(f"unknown kind {kind}")

    def _skip_map(self, depth: int) -> None:
        count = self.unsigned()
        kinds = self.byte() if count else 0
        for _ in range(count):
            self.skip(kinds >> 4, depth + 1)
            self.skip(kinds & 15, depth + 1)
