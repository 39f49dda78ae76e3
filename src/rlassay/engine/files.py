"""The one place that writes. Files are whole or absent: written beside the target, flushed, renamed.

Links are followed, and what is no file (a pipe, a device) is written through where the content can be streamed and
refused elsewhere; see `targets`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rlassay.engine import parts
from rlassay.engine.faults import reached
from rlassay.engine.targets import (
    cannot_write,
    destination,
    keep_manners,
    refuse_stream,
    require_writable,
)
from rlassay.errors import DatasetError, RlassayError
from rlassay.progress import notice

__all__ = [
    "quarantine",
    "read_bounded",
    "read_or_set_aside",
    "replacing",
    "replacing_folder",
    "require_writable",
    "reserve",
    "write_atomically",
    "write_json",
]
Like = str | os.PathLike[str] | None  # the source whose mode and owner an output keeps
Read = TypeVar("Read")
LONGEST_TEXT = 64 * 2**20  # bytes of a list or of settings that a person wrote
DAMAGE = (ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error)


def write_atomically(path: Path, content: bytes | str, *, like: Like = None) -> None:
    """Replace `path` by `content` in one step; a full disk leaves the old file and no fragment."""
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    path = Path(path)
    try:
        place = destination(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    if place.stream is not None:
        _write_through(path, data, place.descriptor)
        return
    with replacing(path, like=like) as temporary:
        with open(temporary, "wb") as file:
            file.write(data)


def write_json(path: Path, value: Any, *, like: Like = None) -> None:
    """JSON with sorted keys and a final newline; NaN and infinity are refused."""
    write_atomically(path, json_text(value), like=like)


def json_text(value: Any) -> str:
    """What `write_json` writes."""
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n"


@contextmanager
def replacing(path: Path, *, like: Like = None, alone: bool = False) -> Iterator[Path]:
    """A temporary path in the same folder that becomes `path` when the block ends well, else vanishes.

    With `alone` a second process that writes the same target is told at once, instead of losing its work later.
    """
    path = Path(path)
    target, temporary = _begin(path, folder=False, alone=alone)
    try:
        reached("opened", path)
        yield temporary
        reached("written", path)
        keep_manners(temporary, target, like)
        _flush(temporary)
        parts.put_in_place(lambda: os.replace(temporary, target))
        _flush(target.parent)
        reached("renamed", path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        parts.remove(temporary)


@contextmanager
def replacing_folder(path: Path, *, like: Like = None, alone: bool = False) -> Iterator[Path]:
    """The same for a folder: a temporary one beside it takes its place when the block ends well."""
    path = Path(path).absolute()
    target, temporary = _begin(path, folder=True, alone=alone)
    try:
        reached("opened", path)
        yield temporary
        reached("written", path)
        keep_manners(temporary, target, like)
        for found in (*temporary.rglob("*"), temporary):
            _flush(found)
        parts.put_in_place(lambda: _swap(temporary, target))
        _flush(target.parent)
        reached("renamed", path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        parts.remove(temporary)


def _begin(path: Path, *, folder: bool, alone: bool) -> tuple[Path, Path]:
    """Where the result goes, and the part to write first."""
    try:
        place = destination(path)
        refuse_stream(path, place)
        place.path.parent.mkdir(parents=True, exist_ok=True)
        part = parts.new_part(place.path, folder=folder, alone=alone)
    except OSError as error:
        raise cannot_write(path, error) from None
    if part is None:
        raise DatasetError(
            f"another process is writing {path}", remedy="wait until it ends, or name another place"
        )
    return place.path, part


def _write_through(path: Path, data: bytes, descriptor: int | None) -> None:
    """Into a pipe or a device, which is opened and never replaced; a reader that has gone is told by the caller."""
    try:
        sys.stdout.flush()  # what was printed before comes before
        with open(path if descriptor is None else os.dup(descriptor), "ab") as file:
            file.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from None


def reserve(path: Path, size: int) -> None:
    """Raise OSError when `size` bytes do not fit at `path`, which is left empty.

    For libraries that crash when the disk fills up while they write, as libhdf5 does.
    """
    with open(path, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        elif shutil.disk_usage(path.parent).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.truncate(0)


def quarantine(path: Path, reason: str) -> Path:
    """Set a damaged file aside under a name that nothing reads, and say so in one line; its work is done again."""
    taken = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, 10_000))
    aside = next(name for name in taken if not name.exists())
    try:
        path.rename(aside)
    except OSError as error:
        raise DatasetError(
            f"{path} is damaged ({reason}) and cannot be set aside ({error.strerror})",
            remedy="remove it and run the same command again",
        ) from None
    notice(f"{path} is damaged ({reason}); it is kept as {aside.name} and made again")
    return aside


def read_or_set_aside(path: Path, read: Callable[[Path], Read]) -> Read | None:
    """What `read(path)` returns; None where there is no such file, or where it was damaged and set aside."""
    try:
        return read(path)
    except FileNotFoundError:
        return None
    except RlassayError:
        raise
    except DAMAGE as error:
        quarantine(path, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        return None


def read_bounded(path: Path, limit: int = LONGEST_TEXT) -> bytes:
    """The bytes of a small file or pipe; one that does not end is refused instead of read for ever."""
    with open(path, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise DatasetError(
            f"{path} is too long", allowed=f"at most {limit:,} bytes", remedy="name another file"
        )
    return content


def _flush(path: Path) -> None:
    """Wait until the disk has it: of a file the content, of a folder the names in it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError) if path.is_dir() else contextlib.nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(temporary: Path, target: Path) -> None:
    """Put a folder in the place of another in one step where the system can, so that a kill never finds none."""
    if not target.exists():
        temporary.rename(target)
    elif not _exchanged(temporary, target):
        aside = temporary.with_suffix(".old")  # not a part: it may be the only copy
        target.rename(aside)
        try:
            temporary.rename(target)
        except OSError:
            aside.rename(target)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Linux exchanges two names atomically; False where that does not exist."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0
