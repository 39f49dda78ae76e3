"""One writer a folder: a second process that wants to write there is told who does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlassay.errors import DatasetError, SettingsError

LOCK = ".lock"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse in one sentence. The lock of a killed process vanishes with it."""
    path = Path(folder) / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path)
    except OSError as error:
        raise DatasetError(
            f"cannot write {folder} ({error.strerror or error})", remedy="name another folder"
        ) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: nobody else can hold a lock on this file
        os.close(handle)


def _acquire(path: Path) -> int:
    import fcntl

    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            raise SettingsError(
                f"another rlassay process (pid {holder}) is writing {path.parent}",
                remedy="wait until it has ended, or name another folder",
            ) from None
        except OSError:  # a file system without locks
            pass
        if _still_there(handle, path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            return handle
        os.close(handle)  # its last holder removed it between our two calls


def _still_there(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(path))
    return False
