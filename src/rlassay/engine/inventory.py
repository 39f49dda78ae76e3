"""What the run store holds: every run with its state, size and age, and what may be removed."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlassay.engine import parts

STATES = ("done", "running", "stopped", "failed", "broken")
_DAMAGED = re.compile(r"\.damaged-\d+$")
_COLLECTION = re.compile(r"seed\d+-[0-9a-f]{10}")  # folders of `rlassay collect`


@dataclass(frozen=True)
class StoredRun:
    """One task's folder. `when` is the time of its last change, in seconds since 1970."""

    name: str  # kind of work, such as "train"
    key: str
    label: str
    state: (
        str  # one of STATES; stopped: begun and not finished, broken: a file of it cannot be read
    )
    when: float
    size: int  # bytes
    folder: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    revision: int | None = None
    failure: str | None = None
    damaged: tuple[str, ...] = ()  # files that were set aside

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "damaged": list(self.damaged)}


def stored_runs(root: Path) -> list[StoredRun]:
    """Every run of a store, the latest first."""
    folders = [*sorted((root / "runs").glob("*/*")), *sorted((root / "collect").glob("*/*"))]
    found = [describe(folder) for folder in folders if folder.is_dir() and not _hidden(folder)]
    return sorted(found, key=lambda run: -run.when)


def _hidden(folder: Path) -> bool:
    return folder.name.startswith(".")


def describe(folder: Path) -> StoredRun:
    """A run from the files of its folder; nothing is changed or locked for long."""
    size, when, damaged = _measure(folder)
    if folder.parent.parent.name == "collect" and _COLLECTION.fullmatch(folder.name):
        state = "done" if (folder / "state.npz").exists() else "stopped"
        label = f"TD3 on {folder.parent.name}, {folder.name.partition('-')[0]}"
        return StoredRun(
            "collect", folder.name, label, state, when, size, str(folder), damaged=damaged
        )
    task, broken = _read(folder / "task.json", dict)
    failure, _ = _read(folder / "failure.json", str)
    task = task or {}
    return StoredRun(
        name=folder.parent.name,
        key=folder.name,
        label=str(task.get("label") or ""),
        state=_state(folder, broken),
        when=when,
        size=size,
        folder=str(folder),
        settings=_mapping(task.get("settings")),
        data=_mapping(task.get("data")),
        revision=task.get("revision"),
        failure=failure,
        damaged=damaged,
    )


def _state(folder: Path, broken: bool) -> str:
    if _is_locked(folder / "lock"):
        return "running"
    result, damaged = _read(folder / "result.json", object)
    if broken or damaged:
        return "broken"
    if result is not None:
        return "done"
    return "failed" if (folder / "failure.json").exists() else "stopped"


def _is_locked(path: Path) -> bool:
    import fcntl

    try:
        with open(path) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _read(path: Path, kind: type) -> tuple[Any, bool]:
    """The JSON of a file and whether it is damaged; an absent file is not."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        return None, False
    except (OSError, ValueError, RecursionError):
        return None, True
    return (value, False) if isinstance(value, kind) else (None, True)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _measure(folder: Path) -> tuple[int, float, tuple[str, ...]]:
    """Bytes on disk, time of the last change, and names of files that were set aside."""
    size, when, damaged = 0, folder.stat().st_mtime, []
    for path in _files(folder):
        try:
            status = path.lstat()
        except OSError:  # a running task replaces files while we look
            continue
        size, when = size + status.st_size, max(when, status.st_mtime)
        if _DAMAGED.search(path.name):
            damaged.append(path.name)
    return size, when, tuple(sorted(damaged))


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def size_of(folder: Path) -> int:
    """Bytes below a folder; 0 where there is none."""
    return _measure(folder)[0] if folder.is_dir() else 0


def older_than(runs: Iterable[StoredRun], seconds: float) -> list[StoredRun]:
    """Runs that have not changed for so long; a running one never counts."""
    limit = time.time() - seconds
    return [run for run in runs if run.when < limit and run.state != "running"]


def remove_runs(runs: Iterable[StoredRun]) -> int:
    """Delete these runs, and return the bytes that were freed."""
    freed = 0
    for run in runs:
        shutil.rmtree(run.folder, ignore_errors=True)
        freed += 0 if Path(run.folder).exists() else run.size
    return freed


def leftover_files(root: Path, *, damaged: bool) -> list[Path]:
    """Unfinished files of dead processes, and with `damaged` also what was set aside."""
    found = list(parts.leftovers(root)) if root.is_dir() else []
    if damaged:
        found += [path for path in _files(root) if _DAMAGED.search(path.name)]
    return found
