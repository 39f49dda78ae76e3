"""Damaged files of every format end in a valid Dataset or a DatasetError; a crash or a hang is named by its seed."""

from __future__ import annotations

import selectors
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from io_layouts import LAYOUTS, record

CASES = 1_200
HANG = 60.0  # seconds without an answer, two hundred times the usual; only a hang takes as long
REGRESSIONS = (6_557, 9_754)  # seeds that once hung: libhdf5 in a damaged text heap
WORKER = Path(__file__).with_name("io_mutation_worker.py")


class Worker:
    """One child that is fed seeds; it is started anew after a crash or a hang."""

    def __init__(self, originals: Path):
        self.originals = originals
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(WORKER), str(self.originals)]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, seed: int) -> str:
        """The outcome of one case, as the child reports it or as its end tells."""
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(f"{seed}\n")
        self.child.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            answered = selector.select(HANG)
        line = self.child.stdout.readline().strip() if answered else ""
        return line or self._restart(hung=not answered)

    def _restart(self, *, hung: bool) -> str:
        self.child.kill()
        code = self.child.wait()
        self.start()
        return "BAD hang" if hung else f"BAD exit {code}"

    def close(self) -> None:
        self.child.stdin.close()  # type: ignore[union-attr]
        self.child.wait()


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    for name, (write, ends, _) in LAYOUTS.items():
        (folder / name).mkdir()
        inner = write(record(ends), folder / name)
        if inner.parent != folder / name:  # Minari lies below its namespace
            inner.rename(folder / name / "dataset")
            inner.parent.joinpath("namespace_metadata.json").unlink(missing_ok=True)
            inner.parent.rmdir()
    return folder


def run_all(originals: Path, seeds: list[int]) -> dict[int, str]:
    worker = Worker(originals)
    try:
        return {seed: worker.run(seed) for seed in seeds}
    finally:
        worker.close()


def test_damaged_files_never_crash_or_hang(originals):
    seeds = [*REGRESSIONS, *range(CASES)]
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(lambda part: run_all(originals, part), (seeds[::2], seeds[1::2])))
    outcomes = halves[0] | halves[1]
    assert len(outcomes) >= 1_000
    bad = {seed: outcome for seed, outcome in outcomes.items() if not outcome.startswith("ok")}
    assert not bad, f"seeds that broke the readers: {bad}"
    for layout in LAYOUTS:  # every format was damaged, and the damage was seen
        mine = [outcome for outcome in outcomes.values() if outcome.split()[2] == layout]
        assert len(mine) >= 50 and any("refused" in outcome for outcome in mine), layout
    assert sum("read" in outcome.split()[1] for outcome in outcomes.values()) >= 50


def test_worker_notices_a_crash(originals, monkeypatch, tmp_path):
    """The harness itself: a child that dies is reported and replaced."""
    deadly = tmp_path / "deadly.py"
    deadly.write_text("import sys, os\nfor line in sys.stdin:\n    os.abort()\n")
    monkeypatch.setattr(sys.modules[__name__], "WORKER", deadly)
    worker = Worker(originals)
    assert worker.run(1).startswith("BAD exit")
    assert worker.run(2).startswith("BAD exit")
    worker.child.kill()
