"""What keeps a bad file from doing harm: bounded reads, plain files only, and one kind of error."""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from rlassay.data.memory import MEMORY_SHARE, WORKING_COPIES, available_memory
from rlassay.errors import DatasetError, RlassayError

PACKED = {b"BZh": "bz2", b"\x1f\x8b": "gzip"}  # text files, by their first bytes
JSON_DEPTH = 32  # nested lists and objects that are kept
JSON_LIMIT = 64 * 2**20  # bytes of one JSON file
STREAMING_COPIES = 2.0  # of flags and rewards, where the other columns stay on the disk
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_given: ContextVar[int | None] = ContextVar("bytes that a process may hold", default=None)


@contextmanager
def refusing(path: object, format_name: str) -> Iterator[None]:
    """Any failure while reading becomes a DatasetError: libraries raise dozens of types on broken bytes."""
    try:
        yield
    except RlassayError:
        raise
    except Exception as error:
        if (known := _not_the_files_fault(path, error)) is not None:
            raise known from None
        raise DatasetError(
            f"{path} cannot be read as {format_name} ({_first_line(error)})",
            remedy="the file is damaged, incomplete or of another format; fetch or write it again",
        ) from error


def _not_the_files_fault(path: object, error: Exception) -> DatasetError | None:
    """Memory, rights, space and names: nothing is damaged."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM or _says(error, "allocate memory"):
        return DatasetError(
            f"{path} does not fit into memory",
            remedy="free memory, split the file, or read it on a larger machine",
        )
    if number in (errno.EACCES, errno.EPERM):
        return DatasetError(
            f"{path} may not be read: permission denied", remedy="ask for the right to read it"
        )
    if number in NO_ROOM:  # reading writes only what it unpacks
        return DatasetError(
            f"{path} cannot be unpacked: {os.strerror(number or 0)}",
            remedy="free some space, name another folder with $TMPDIR, or allow more with --memory",
        )
    if number == errno.ENAMETOOLONG:
        return DatasetError(f"the name {str(path)[:40]}... is too long", remedy="check the path")
    return None


def temporary_folder() -> str:
    """Where temporary files go. Python takes a full disk for a missing folder: it tries one after another."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise DatasetError(
            "no temporary file can be written in any of the usual folders",
            remedy="free some space, or name a folder with $TMPDIR",
        ) from None


def _says(error: Exception, words: str) -> bool:
    return isinstance(error, OSError) and words in str(error).lower()


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    message = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    return message if len(message) <= 200 else message[:197] + "..."


def plain_file(path: Path) -> Path:
    """The path, if it is a regular file: a pipe or a device would never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if (known := _not_the_files_fault(path, error)) is not None:
            raise known from None
        raise DatasetError(
            f"{path} cannot be opened ({_first_line(error)})", remedy="check the path"
        ) from None
    if not stat.S_ISREG(mode):
        raise DatasetError(
            f"{path} is not a regular file", remedy="name a file or a dataset folder"
        )
    return path


def compression(head: bytes) -> str | None:
    """The packing of a text file, told by its first bytes."""
    return next((name for mark, name in PACKED.items() if head.startswith(mark)), None)


def unpacked(file: Path) -> IO[bytes]:
    """The content of a text file, whatever packs it."""
    with open(plain_file(file), "rb") as opened:
        kind = compression(opened.read(4))
    if kind == "bz2":
        return bz2.open(file)
    return gzip.open(file) if kind == "gzip" else open(file, "rb")  # type: ignore[return-value]


def first_bytes(file: Path) -> bytes:
    """The beginning of a packed text file; empty when it is damaged."""
    try:
        with unpacked(file) as stream:
            return stream.read(4_096)
    except (OSError, EOFError, ValueError):
        return b""


def read_json(path: Path) -> dict[str, Any]:
    """One JSON object from a file of bounded size."""
    size = plain_file(path).stat().st_size
    if size > JSON_LIMIT:
        raise DatasetError(
            f"{path} is too large for JSON", allowed=f"{JSON_LIMIT:,} bytes", got=f"{size:,}"
        )
    with refusing(path, "JSON"):
        value = json.loads(path.read_bytes())
    if not isinstance(value, dict):
        raise DatasetError(f"{path} holds no JSON object", got=type(value).__name__)
    return value


def json_value(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: arrays as lists, NaN and infinity as null, anything else as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict) and depth < JSON_DEPTH:
        return {str(key): json_value(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth < JSON_DEPTH:
        return [json_value(part, depth + 1) for part in value]
    return str(value)[:1_000]


def parsed_object(text: Any) -> dict[str, Any]:
    """A JSON object from text that a file carries along; empty when it is none."""
    try:
        value = json.loads(text or "{}")
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def holding_at_most(memory: int | None) -> Iterator[None]:
    """Every budget that is opened inside allows so many bytes; None leaves it to what the machine has free."""
    token = _given.set(memory)
    try:
        yield
    finally:
        _given.reset(token)


class Budget:
    """The memory that one dataset may take; every array is counted before it is read, with its working copies."""

    def __init__(self, source: object, *, counting: bool = True):
        """`counting=False`: for what is checked and stays on the disk."""
        self.source, self.counting = source, counting
        self.limit = _given.get() or int(available_memory() * MEMORY_SHARE)
        self.taken = 0
        self.copies = WORKING_COPIES

    @property
    def streaming(self) -> bool:
        """Whether the columns of this dataset stay on the disk."""
        return self.copies == STREAMING_COPIES

    def exceeded_by(self, size: int) -> bool:
        """Whether columns of so many bytes have to stay on the disk. The flags and rewards, which do not, are then
        counted with the fewer copies that work in blocks makes.
        """
        if self.taken + WORKING_COPIES * size <= self.limit:
            return False
        self.copies = STREAMING_COPIES
        return True

    def excess(self) -> int | None:
        """How many bytes were counted, where they are beyond the limit."""
        return int(self.taken / self.copies) if self.taken > self.limit else None

    def take(self, size: int, what: str) -> None:
        """Count an array of `size` bytes; refuse it when the sum is beyond the limit."""
        self.taken += int(self.copies * size)
        if self.counting and self.taken > self.limit:
            raise DatasetError(
                f"{self.source}: {what} would need {self.taken:,} bytes of memory",
                allowed=f"{self.limit:,}",
                remedy="allow more with --memory, split the dataset or read it on a larger machine",
            )
