"""Seconds of a scoring and of an update, as a user meets them; compilation told apart."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rlassay.engine.local import worker_environment
from rlassay.errors import SolverError
from rlassay.runtime import compilation_cache

PROGRAM = (sys.executable, "-P", "-m", "rlassay.study.timing")
PERIOD = 100  # updates between two looks at the clock
PERIODS = 5  # of a probe; the first compiles and is not counted


def scoring_seconds(path: Path, scores: str | Sequence[str] | None, again: bool = False) -> float:
    """One call of `score` in a process of its own, which compiles what it needs; `again`: what a call before it left is found."""
    with tempfile.TemporaryDirectory() as compiled:
        if again:
            _call_of_score(path, scores, compiled)
        return _call_of_score(path, scores, compiled)


def _call_of_score(path: Path, scores: str | Sequence[str] | None, compiled: str) -> float:
    environment = worker_environment() | compilation_cache(compiled)
    program = (*PROGRAM, str(path), json.dumps(scores))
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def update_seconds(agent: str, environment: str, path: Path, period: int = PERIOD) -> float:
    """Seconds of an update with the agent's published settings, inside one run and after a warm-up."""
    from rlassay.agents import train_agent
    from rlassay.formats import load

    clock = UpdateClock()
    changes = {"updates": PERIODS * period, "eval_every": period, "eval_episodes": 1}
    data = load(path)
    with tempfile.TemporaryDirectory() as folder:
        clock.start()
        train_agent(agent, data, environment, folder=folder, settings=changes, report=clock.look)
    return clock.seconds_per_update()


class UpdateClock:
    """Looks at the clock whenever a run reports; only stretches in which updates were made count.

    Evaluations and checkpoints fall between two reports of the same number of updates. The first stretch compiles, so
    the second, which is of the same phase of training, stands in for it.
    """

    def __init__(self) -> None:
        self._last = (0, 0.0)
        self.stretches: list[tuple[int, float]] = []  # updates, seconds

    def start(self, now: float | None = None) -> None:
        self._last = (0, time.perf_counter() if now is None else now)

    def look(self, updates: int, news: str = "", now: float | None = None) -> None:
        """A report of the run after so many updates."""
        now = time.perf_counter() if now is None else now
        before, then = self._last
        if updates > before:
            self.stretches.append((updates - before, now - then))
        self._last = (updates, now)

    def seconds_per_update(self) -> float:
        if len(self.stretches) < 2:
            raise SolverError(
                "a run was too short to be timed",
                allowed="two stretches of updates or more",
                got=len(self.stretches),
            )
        first, counted = self.stretches[0], self.stretches[1:]
        stand_in = first[0] * counted[0][1] / counted[0][0]
        updates = first[0] + sum(each[0] for each in counted)
        return (stand_in + sum(each[1] for each in counted)) / updates


def main() -> None:
    """Print the seconds of one call of `score`, the libraries that it loads included."""
    import rlassay

    path, scores = sys.argv[1], json.loads(sys.argv[2])
    started = time.perf_counter()
    rlassay.score(path, scores=scores)
    sys.stdout.write(f"{time.perf_counter() - started}\n")


if __name__ == "__main__":
    main()
