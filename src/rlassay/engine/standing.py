"""Worker processes that stay: start and imports are paid once for many short tasks, such as one card a file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rlassay.engine.local import LocalEngine, OnOutcome, Outcome, forget_worker, start_worker
from rlassay.engine.store import RunStore, Task
from rlassay.engine.worker import STANDING


class StandingEngine(LocalEngine):
    """`LocalEngine` with one process a slot instead of one a task; a process that dies costs its one task."""

    def __init__(self, workers: int | None = None, threads: int = 1):
        super().__init__(workers, threads)
        self._standing: dict[int, subprocess.Popen[bytes]] = {}  # by first core

    def run(
        self, tasks: Sequence[Task], store: RunStore, on_outcome: OnOutcome = lambda outcome: None
    ) -> list[Outcome]:
        """As `LocalEngine.run`; the processes end with it."""
        try:
            return super().run(tasks, store, on_outcome)
        finally:
            for process in self._standing.values():
                forget_worker(process)
            self._standing.clear()

    def _call_worker(self, store: RunStore, folder: Path, core: int) -> int:
        process = self._standing.get(core)
        if process is None or process.poll() is not None:
            process = self._standing[core] = start_worker(
                store, STANDING, core, self.threads, stdout=subprocess.PIPE
            )
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{folder}\n".encode(errors="surrogateescape"))
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:  # it died while it was told
            answer = b""
        if answer.strip().isdigit():
            return int(answer)
        forget_worker(self._standing.pop(core))
        return process.wait()
