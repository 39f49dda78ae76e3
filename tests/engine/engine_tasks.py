"""Tasks for the engine's tests; workers import this module by name."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rlassay.errors import DatasetError


def double(settings, data, folder: Path):
    (folder / "calls").open("a").write("x")
    return {"value": 2 * settings["number"], "threads": os.environ["OMP_NUM_THREADS"]}


def pinned(settings, data, folder: Path):
    return {"cores": sorted(os.sched_getaffinity(0))}


def refuse(settings, data, folder: Path):
    raise DatasetError("the file is empty", remedy="name another")


def crash(settings, data, folder: Path):
    raise ZeroDivisionError("by nothing")


def vanish(settings, data, folder: Path):
    os._exit(9)


def count_slowly(settings, data, folder: Path):
    """Counts to `number` with a checkpoint; a second start goes on counting."""
    path = folder / "count"
    done = int(path.read_text()) if path.exists() else 0
    (folder / "starts").open("a").write("x")
    while done < settings["number"]:
        done += 1
        path.write_text(str(done))
        time.sleep(settings["pause"])
    return {"count": done, "starts": len((folder / "starts").read_text())}


def process(settings, data, folder: Path):
    return {"pid": os.getpid()}


def talk(settings, data, folder: Path):
    print(f"number {settings['number']}", flush=True)  # noqa: T201
    return {}


def files(settings, data, folder: Path):
    (folder / "note.txt").write_text("from the node")
    (folder / "deep").mkdir()
    (folder / "deep/bytes").write_bytes(bytes(range(256)))
    return {"written": 2}
