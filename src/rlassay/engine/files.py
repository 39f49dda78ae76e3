"""Files that are either whole or absent: write beside the target, flush, rename."""

from __future__ import annotations

import json
import os
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
    write_atomically(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


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
