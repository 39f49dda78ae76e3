"""Run many tasks in worker processes of this machine, one pinned compute thread each.

`Engine` is the whole interface; an engine on a cluster would implement the same method.
"""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlassay.engine.store import RunStore, Task
from rlassay.runtime import available_cores


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


class LocalEngine:
    """Worker processes on this machine, by default one a core."""

    def __init__(self, workers: int | None = None, threads: int = 1):
        self.workers, self.threads = workers or max(1, available_cores() // threads), threads
        self._processes: set[subprocess.Popen] = set()

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

    def _run_missing(self, tasks: list[Task], store: RunStore):
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
                for process in list(self._processes):
                    process.terminate()
                raise

    def _run_one(self, task: Task, store: RunStore, slots: queue.SimpleQueue) -> Outcome:
        slot = slots.get()
        try:
            folder = store.begin(task)
            code = self._call_worker(store, folder, slot * self.threads)
        finally:
            slots.put(slot)
        result = store.result(task)
        if result is not None:
            return Outcome(task, result)
        cause = (
            store.failure(task) or f"the worker ended with code {code}; see {folder / 'log.txt'}"
        )
        store.fail(task, cause)
        return Outcome(task, None, cause)

    def _call_worker(self, store: RunStore, folder: Path, core: int) -> int:
        arguments = [str(store.root), str(folder), str(core), str(self.threads)]
        command = [sys.executable, "-m", "rlassay.engine.worker", *arguments]
        with open(folder / "log.txt", "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
            self._processes.add(process)
            try:
                return process.wait()
            finally:
                self._processes.discard(process)
                if process.stdin:
                    process.stdin.close()


def _stored(task: Task, store: RunStore) -> Outcome | None:
    result = store.result(task)
    return None if result is None else Outcome(task, result, cached=True)
