"""What a disturbed command and the run after it have to look like, and what either left behind."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

from fault_commands import Command, fingerprint

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
INTERRUPTED = 130
GOOD, MISSED = "good", "missed"


@dataclass(frozen=True)
class Fault:
    """`where` is a write event (`1:renamed state.npz`), a moment in seconds, a number of bytes, or a file and a harm."""

    kind: str
    where: str

    @property
    def timed(self) -> bool:
        return self.kind in SIGNALS and ":" not in self.where


@dataclass
class Ended:
    """How a run ended. Of a timed signal also: how long it took, and whether the program was listening by then."""

    code: int
    stderr: str
    seconds: float
    leaving: float | None = None
    listening: bool = True


def judge_first(
    command: Command, fault: Fault, ended: Ended, work: Path, expected: dict[str, str]
) -> str:
    """What is wrong with how a disturbed command ended; `missed` when the fault came too late or never."""
    if fault.kind == "damage":
        return ""
    if fault.timed and not ended.listening and ended.code == -SIGNALS[fault.kind]:
        return ""  # Python itself was still starting, and ends as the system does
    if "Traceback" in ended.stderr:
        return f"traceback: {ended.stderr.strip().splitlines()[-1]}"
    if fault.kind in ("enospc", "fsize") and "damaged" in ended.stderr:
        return f"a full disk is called damage: {ended.stderr.strip().splitlines()[-1]}"
    if ended.code == 0:
        whole = fingerprint(command, work) == expected
        in_worker = command.workers and not fault.timed  # one that had stored its result before
        return ("" if in_worker else MISSED) if whole else "exit 0 with other outputs"
    if ended.code not in allowed_codes(command, fault):
        return f"exit code {ended.code}"
    if fault.timed and any(work.glob("store/runs/*/*/failure.json")):
        return "a task that was cut short is called failed"
    return ""


def allowed_codes(command: Command, fault: Fault) -> set[int]:
    """Codes beside 0. A fault in a worker is a partial result (3), or a sentence (2) where no worker was left."""
    in_worker = {2, 3} if command.workers and not fault.timed else set()
    if fault.kind == "kill":
        return {-signal.SIGKILL} | in_worker
    if fault.kind in SIGNALS:
        return {INTERRUPTED} | in_worker
    return {2} | in_worker


def judge_second(
    command: Command, ended: Ended, work: Path, expected: dict[str, str], before: dict[str, tuple]
) -> str:
    """What is wrong after the second run, which nothing disturbed."""
    if ended.code != 0:
        return f"rerun: exit code {ended.code}: {ended.stderr.strip()[-200:]}"
    if "Traceback" in ended.stderr:
        return "rerun: traceback"
    found = fingerprint(command, work)
    if found != expected:
        differing = {name for name in {*found, *expected} if found.get(name) != expected.get(name)}
        return f"rerun: other outputs: {' '.join(sorted(differing))}"
    again = results_of(command, work)
    if any(again.get(name) != state for name, state in before.items()):
        return "rerun: something finished was done again"
    leftovers = [path.name for path in work.rglob("*.part")]
    if leftovers:
        return f"rerun: leftover {leftovers[0]}"
    return "rerun: orphan" if orphans_of(work) else ""


def results_of(command: Command, work: Path) -> dict[str, tuple]:
    """Finished results by name, with what changes when they are written again."""
    found = [path for pattern in command.results for path in work.glob(pattern)]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def is_listening(process: int) -> bool:
    """Whether a program has its own handler by now: Python catches SIGINT by itself, SIGTERM only when asked to."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return True
    masks = (int(line.split()[1], 16) for line in lines if line.startswith(("SigCgt", "SigIgn")))
    return any(mask >> signal.SIGTERM - 1 & 1 for mask in masks)


def orphans_of(work: Path, patience: float = 10.0) -> list[int]:
    """Processes of a run that has ended; they have a moment to notice."""
    end = time.monotonic() + patience
    while (found := _with_store(f"RLASSAY_STORE={work}/store")) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def _with_store(entry: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if entry.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found
