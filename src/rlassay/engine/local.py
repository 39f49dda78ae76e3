"""Run many tasks in worker processes of this machine, one pinned compute thread each.

`Engine` is the whole interface; the engines of `standing` and `cluster` implement the same method.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlassay.engine.store import RunStore, Task
from rlassay.runtime import INTERRUPTED, available_cores, before_leaving

_ENDING = 1.0  # seconds a worker has to end by itself after an interruption
_INTERRUPTED = {INTERRUPTED, -signal.SIGINT, -signal.SIGTERM}
_processes: set[subprocess.Popen] = set()  # workers of this process that are running
_leaving = threading.Event()


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a result, or the cause of its failure. `cached` results were in the store before."""

    task: Task
    result: Any | None
    failure: str | None = None
    cached: bool = False


OnOutcome = Callable[[Outcome], None]


class Engine(Protocol):
    """Runs tasks and stores their results; the outcomes come back in the order of the tasks."""

    def run(
        self, tasks: Sequence[Task], store: RunStore, on_outcome: OnOutcome = ...
    ) -> list[Outcome]: ...


class StoringEngine(ABC):
    """What all engines do alike: nothing twice, results into the store, outcomes in order."""

    def run(
        self, tasks: Sequence[Task], store: RunStore, on_outcome: OnOutcome = lambda outcome: None
    ) -> list[Outcome]:
        """Do what the store does not hold yet; a failed task does not stop the others."""
        outcomes = {task.key: _stored(task, store) for task in tasks}
        for outcome in outcomes.values():
            if outcome is not None:
                on_outcome(outcome)
        missing = {task.key: task for task in tasks if outcomes[task.key] is None}
        for outcome in self._run_missing(list(missing.values()), store):
            outcomes[outcome.task.key] = outcome
            on_outcome(outcome)
        return [outcome for task in tasks if (outcome := outcomes[task.key]) is not None]

    @abstractmethod
    def _run_missing(self, tasks: list[Task], store: RunStore) -> Iterator[Outcome]:
        """Outcomes of tasks that the store does not hold, as they end."""


class LocalEngine(StoringEngine):
    """Worker processes on this machine, by default one a core."""

    def __init__(self, workers: int | None = None, threads: int = 1):
        self.workers, self.threads = workers or max(1, available_cores() // threads), threads

    def _run_missing(self, tasks: list[Task], store: RunStore) -> Iterator[Outcome]:
        slots: queue.SimpleQueue[int] = queue.SimpleQueue()
        for slot in range(self.workers):
            slots.put(slot)
        with ThreadPoolExecutor(self.workers) as pool:
            pending: set[Future] = {pool.submit(self._run_one, t, store, slots) for t in tasks}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            except BaseException:  # Ctrl-C: no worker outlives the engine
                for future in pending:
                    future.cancel()
                end_workers()
                raise

    def _run_one(self, task: Task, store: RunStore, slots: queue.SimpleQueue) -> Outcome:
        slot = slots.get()
        try:
            folder = store.begin(task)
            code = self._call_worker(store, folder, slot * self.threads)
        finally:
            slots.put(slot)
        if (
            code in _INTERRUPTED
        ):  # Ctrl-C reaches workers as well, and one may be faster than we are
            _leaving.wait(_ENDING)
        if _leaving.is_set():
            threading.Event().wait()  # this process ends; a task that was cut short has not failed
        result = store.result(task)
        if result is not None:
            return Outcome(task, result)
        cause = (
            store.failure(task) or f"the worker ended with code {code}; see {folder / 'log.txt'}"
        )
        store.fail(task, cause)
        return Outcome(task, None, cause)

    def _call_worker(self, store: RunStore, folder: Path, core: int) -> int:
        with open(folder / "log.txt", "ab") as log:
            process = start_worker(store, str(folder), core, self.threads, stdout=log, stderr=log)
        try:
            return process.wait()
        finally:
            forget_worker(process)


def start_worker(
    store: RunStore, folder: str, core: int, threads: int, stdout: Any = None, stderr: Any = None
) -> subprocess.Popen[bytes]:
    """A worker process for one folder, or for all that it is told of; it ends when its stdin does."""
    arguments = [str(store.root), folder, str(core), str(threads)]
    command = [sys.executable, "-P", "-m", "rlassay.engine.worker", *arguments]
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, env=worker_environment()
    )
    _processes.add(process)
    return process


def forget_worker(process: subprocess.Popen[bytes]) -> None:
    """Close our ends; a worker that is still there ends by that."""
    _processes.discard(process)
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def worker_environment() -> dict[str, str]:
    """This process's environment with PYTHONPATH spelled out: an empty or relative entry would mean the working folder
    to whoever starts the worker.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    known = os.pathsep.join(os.path.abspath(entry) for entry in entries if entry)
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**rest, "PYTHONPATH": known} if known else rest


def end_workers() -> None:
    """End every running worker: they are asked first, and have a moment to remove what they had not finished."""
    running = list(_processes)
    for process in running:
        process.terminate()
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING / len(running))
        process.kill()


def _leave() -> None:
    _leaving.set()
    end_workers()


before_leaving(_leave)


def _stored(task: Task, store: RunStore) -> Outcome | None:
    result = store.result(task)
    return None if result is None else Outcome(task, result, cached=True)
