"""How much memory this process may still take: the machine's, its control groups' and the shell's limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MEMORY_SHARE = 0.8  # of what the machine has free, for the arrays of one dataset
WORKING_COPIES = 4.2  # that `inspect` holds at its height, of the stored columns (measured)
UNLIMITED = 2**60  # cgroup v1 states a number near 2**63 where there is no limit


def available_memory(root: Path = Path("/")) -> int:
    """Bytes still free to this process, whichever limit is least; `root` is where /proc and /sys lie."""
    limits = [_from_meminfo(root), _from_cgroups(root), _from_rlimit(root)]
    known = [limit for limit in limits if limit is not None]
    return max(0, min(known)) if known else 2**40


def _from_meminfo(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _from_cgroups(root: Path) -> int | None:
    """The tightest of the groups this process lies in, its own and every one above it."""
    free = []
    for folder, limit_name, used_name, cache in _groups(root):
        limit, used = _number(folder / limit_name), _number(folder / used_name)
        if limit is not None and limit < UNLIMITED and used is not None:
            free.append(limit - used + _reclaimable(folder, cache))
    return min(free, default=None)


def _groups(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Folder, name of the limit, of the use and of the cache in it, from the process's group up to the mount."""
    mount = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup") or ["0::/"]:
        number, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if number == "0" and not controllers:
            files = ("memory.max", "memory.current", "inactive_file")
            yield from ((folder, *files) for folder in _upwards(mount, place))
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from ((folder, *files) for folder in _upwards(mount / "memory", place))


def _upwards(mount: Path, place: str) -> Iterator[Path]:
    """In a container the path may be the host's, of which only the mount itself is visible."""
    parts = [part for part in place.split("/") if part not in ("", "..")]
    for count in range(len(parts), -1, -1):
        folder = mount.joinpath(*parts[:count])
        if folder.is_dir():
            yield folder


def _reclaimable(folder: Path, name: str) -> int:
    """Cached file pages count as used and are given up on demand."""
    for line in _lines(folder / "memory.stat"):
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdecimal():
            return int(value)
    return 0


def _from_rlimit(root: Path) -> int | None:
    try:
        import resource

        ceiling = resource.getrlimit(resource.RLIMIT_AS)[0]
        if ceiling == resource.RLIM_INFINITY:
            return None
        pages = int((root / "proc/self/statm").read_text().split()[0])
        return ceiling - pages * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return None


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None  # "max" is no limit


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, ValueError):
        return []
