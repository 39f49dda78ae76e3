"""Unfinished files: their names say who writes them, so that what a dead process left is told from work in progress."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rlassay.runtime import before_leaving, is_leaving, stand_by_if_leaving

ENDING = ".part"
OLD = 86_400  # seconds after which a part of an unknown writer counts as left behind
_LONGEST = 100  # bytes of the target's name in a part's name; file systems allow 255 in all
_WRITER = re.compile(r"\.([0-9a-f]{6})-(\d+)-(\d+)-[0-9a-f]+\.part$")
_live: set[Path] = set()  # of this process
# Held while a part takes its place, and while an ending process removes its parts.
_placing = threading.Lock()


def new_part(target: Path, *, folder: bool = False, alone: bool = False) -> Path | None:
    """An empty file or folder beside `target` that only its owner may read; earlier leftovers are removed first.

    With `alone` there is none while another process writes the same target.
    """
    with _one_at_a_time(target.parent) if alone else contextlib.nullcontext():
        others = clean_leftovers(target)
        if alone and others:
            return None
        writer = f"{_machine()}-{os.getpid()}-{_started(os.getpid()) or 0}-{secrets.token_hex(4)}"
        part = target.parent / f"{_prefix(target)}{writer}{ENDING}"
        _live.add(part)
        if folder:
            part.mkdir(mode=0o700)
        else:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return part


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Between looking for others and making one's own part nobody else does; where folders have no locks, never mind."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(40):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:
                break
        yield
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a part of our own, whatever it is by now."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    _live.discard(path)


def put_in_place(swap: Callable[[], None]) -> None:
    """Call `swap`, which gives a finished part the name of its target, unless this process is being ended: then the part
    may be half removed, and what stands at the target stays.
    """
    with _placing:
        if not is_leaving():
            swap()
            return
    stand_by_if_leaving()


def remove_live() -> None:
    """Remove everything unfinished of this process, which is about to end; nothing takes its place from then on."""
    with _placing:
        for path in list(_live):
            try:
                remove(path)
            except OSError:
                continue


def clean_leftovers(target: Path) -> list[Path]:
    """Remove what dead processes left while they wrote `target`; the parts of the living are returned."""
    prefix = _prefix(target)
    with os.scandir(target.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(prefix)]
    living = []
    for path in (target.parent / name for name in names if name.endswith(ENDING)):
        if left_behind(path):
            _discard(path)
        elif _WRITER.search(path.name):  # version 0.1 did not say who writes
            living.append(path)
    return living


def leftovers(root: Path) -> Iterator[Path]:
    """Parts of dead processes anywhere below `root`."""
    for folder, folders, files in os.walk(root):
        found = [name for name in (*folders, *files) if name.endswith(ENDING)]
        folders[:] = [name for name in folders if not name.endswith(ENDING)]
        yield from (path for name in found if left_behind(path := Path(folder, name)))


def left_behind(part: Path) -> bool:
    """True when nobody writes this part any more: its process has ended, or nobody is known and a day has passed."""
    writer = _WRITER.search(part.name)
    if writer is not None and writer[1] == _machine():
        return _started(int(writer[2])) != int(writer[3])
    try:
        return time.time() - part.lstat().st_mtime > OLD
    except OSError:
        return False


def _discard(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError:  # another process cleans as well, or it belongs to another user
        return


def _prefix(target: Path) -> str:
    """Starts the names of everything hidden beside `target`; long names are cut and told apart by a hash."""
    name = os.fsencode(target.name)
    if len(name) > _LONGEST:
        digest = hashlib.sha256(name).hexdigest()[:8]
        return f".{os.fsdecode(name[:_LONGEST]).encode(errors='replace').decode()}~{digest}."
    return f".{target.name}."


@functools.cache
def _machine() -> str:
    """Where a process number means a process: this boot, this host, this namespace."""
    known = [platform.node()]
    with contextlib.suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("".join(known).encode()).hexdigest()[:6]


def _started(process: int) -> int | None:
    """When a process started, in ticks since the boot (0 where the system does not tell); None when it has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0 if _runs(process) else None


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


before_leaving(remove_live)
