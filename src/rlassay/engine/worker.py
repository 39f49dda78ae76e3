"""Tasks in a process of their own: `python -P -m rlassay.engine.worker STORE FOLDER CORE THREADS`.

With `-` as FOLDER the process stays: it reads one folder a line from stdin and answers each with a line that holds the
code of its task, so that start and imports are paid once for many short tasks. The process does not outlive its parent:
the parent holds the other end of stdin. Its modules come from installed packages and PYTHONPATH, never from the folder it
is started in (`-P`).
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlassay.engine.store import RunStore, Task
from rlassay.errors import RlassayError
from rlassay.runtime import (
    keep_compiled_programs,
    leave,
    leave_on_signals,
    load_plugins,
    stand_by_if_leaving,
    use_threads,
)

FAILED = 1
STANDING = "-"  # in the place of FOLDER: stay, and be told


def main(arguments: list[str]) -> int:
    """Run the task whose `task.json` stands in FOLDER; 0 when its result is stored."""
    store, folder, core, threads = RunStore(arguments[0]), arguments[1], *map(int, arguments[2:])
    leave_on_signals(quiet=True)
    _stay_on(core, threads)
    use_threads(threads)
    if folder == STANDING:
        return _run_as_told(store)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_compiled_programs()
    return _run(store, Path(folder))


def _run(store: RunStore, folder: Path) -> int:
    """One task, under its lock; a failure is stored, and one that is no user's mistake shows in the log."""
    task = Task.from_json(json.loads((folder / "task.json").read_text()))
    try:
        with store.claim(task):
            if store.result(task) is None:
                store.finish(task, perform(task, folder))
    except Exception as error:
        stand_by_if_leaving()
        store.fail(task, describe(error))
        if isinstance(error, RlassayError):
            print(error, file=sys.stderr)  # noqa: T201 (goes into the task's log)
        else:
            traceback.print_exc()
        return FAILED
    return 0


def _run_as_told(store: RunStore) -> int:
    """Task after task, until stdin ends; what a task prints goes into its own log."""
    answers, folders = os.dup(1), queue.SimpleQueue[str]()
    threading.Thread(target=_hear, args=(folders,), daemon=True).start()
    keep_compiled_programs(start=False)
    while True:
        folder = Path(folders.get())
        with open(folder / "log.txt", "ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        code = _run(store, folder)
        sys.stderr.flush()
        os.write(answers, f"{code}\n".encode())


def _hear(folders: queue.SimpleQueue[str]) -> None:
    heard = b""
    while part := os.read(0, 4_096):
        *lines, heard = (heard + part).split(b"\n")
        for line in lines:
            folders.put(os.fsdecode(line))
    leave(FAILED)  # the parent has gone


def perform(task: Task, folder: Path) -> Any:
    """The task's result; it may name a third party's score, cost or agent."""
    load_plugins()
    return resolve(task.function)(task.settings, task.data, folder)


def resolve(function: str) -> Callable[..., Any]:
    """The function a task names."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def describe(error: BaseException) -> str:
    """The cause in one sentence."""
    return str(error) if isinstance(error, RlassayError) else f"{type(error).__name__}: {error}"


def _stay_on(core: int, threads: int) -> None:
    """Workers of one engine sit on different cores."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[(core + k) % len(cores)] for k in range(threads)})


def _end_with_parent() -> None:
    while os.read(0, 1024):  # not sys.stdin: its lock would break the interpreter's own end
        pass
    leave(FAILED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
