"""Files that are either whole or absent: write beside the target, flush, rename."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rlassay.errors import DatasetError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content` in one step; a full disk leaves the old file and no fragment."""
    data = content.encode() if isinstance(content, str) else content
    with replacing(path) as temporary:
        with open(temporary, "wb") as file:
            file.write(data)


def write_json(path: Path, value: Any) -> None:
    """JSON with sorted keys and a final newline; NaN and infinity are refused."""
    write_atomically(path, json_text(value))


def json_text(value: Any) -> str:
    """What `write_json` writes."""
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder that becomes `path` when the block ends well, else vanishes."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from None
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """The same for a folder: a temporary one beside it takes its place when the block ends well."""
    path = Path(path).absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        name = tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from None
    temporary, old = Path(name), Path(name).with_suffix(".old")
    try:
        yield temporary
        os.chmod(temporary, 0o777 & ~_umask())
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    except OSError as error:
        if old.exists() and not path.exists():
            old.rename(path)
        raise _cannot_write(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


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


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _cannot_write(path: Path, error: OSError) -> DatasetError:
    return DatasetError(
        f"cannot write {path} ({error.strerror or error})",
        remedy="nothing was changed; free some space or name another place and run the same command again",
    )
