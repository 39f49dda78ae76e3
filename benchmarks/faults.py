"""Disturb commands and look at what is left: `python benchmarks/faults.py`; not part of `make test`.

Every command is first run undisturbed, which tells its write events. Then it is killed, terminated, interrupted or given
a full disk at each of them, at seeded random moments, and with a limit on the size of files; and files of its store are
damaged. After each fault the same command runs again and has to end as if nothing had happened. `results/faults/` gets
one row a fault and a table of counts. `--each N` bounds the faults a command, `--only train,score` the commands.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fault_commands import COMMANDS, Command, fingerprint, write_data

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
STARTED = 0.5  # seconds before which Python itself is still starting
INTERRUPTED = 130
# Codes a disturbed command may end with, beside 0 when the fault came too late. A fault in a worker is a partial result
# (3), or a sentence (2) where no worker was left.
ALLOWED = {
    "kill": {-signal.SIGKILL, 2, 3},
    "term": {INTERRUPTED, 2, 3},
    "int": {INTERRUPTED, 2, 3},
    "enospc": {2, 3},
    "fsize": {2, 3},
    "damage": set(),
}
COLUMNS = ("command", "kind", "where", "code", "rerun", "seconds_to_leave", "outcome")


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
    """How a run ended."""

    code: int
    stderr: str
    seconds: float
    leaving: float | None = None  # seconds between a timed signal and the end


@dataclass
class Bench:
    """Where runs happen: one folder a run, removed afterwards; compiled programs are shared."""

    root: Path
    cache: Path
    made: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def folder(self) -> Path:
        self.made += 1
        work = self.root / f"work{self.made}"
        work.mkdir()
        shutil.copy(self.root / "data.npz", work)
        return work

    def run(self, command: Command, work: Path, fault: Fault | None = None, **more: str) -> Ended:
        """Run the command in `work`, disturbed by `fault`."""
        environment = {**os.environ, **self.environment, **more, "RLASSAY_STORE": f"{work}/store"}
        environment["JAX_COMPILATION_CACHE_DIR"] = str(self.cache)
        limit = None
        if fault is not None and fault.kind == "fsize":
            limit = int(fault.where)
        elif fault is not None and not fault.timed and fault.kind != "damage":
            environment["RLASSAY_FAULT"] = f"{fault.kind}@{fault.where}"
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *command.launcher, *command.words],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: _limit(limit),
        )
        leaving = _interrupt(process, fault) if fault is not None and fault.timed else None
        _, stderr = process.communicate()
        return Ended(process.returncode, stderr, time.monotonic() - started, leaving)


def _limit(size: int | None) -> None:
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(process: subprocess.Popen, fault: Fault) -> float | None:
    try:
        process.wait(float(fault.where))
        return None  # it was faster
    except subprocess.TimeoutExpired:
        process.send_signal(SIGNALS[fault.kind])
    sent = time.monotonic()
    process.wait()
    return time.monotonic() - sent


def undisturbed(bench: Bench, command: Command) -> tuple[dict[str, str], list[str], float]:
    """Outputs, write events (process, event) in order, and seconds of a run that nothing disturbs; a first one compiles."""
    for attempt in range(2):
        work, trace = bench.folder(), bench.root / f"trace-{command.name}-{attempt}"
        ended = bench.run(command, work, RLASSAY_FAULT=f"trace@{trace}")
        if ended.code != 0:
            raise SystemExit(f"{command.name} fails undisturbed ({ended.code}): {ended.stderr}")
        expected = fingerprint(command, work)
        shutil.rmtree(work)
    events = trace.read_text().splitlines()
    return expected, events, ended.seconds


def faults_of(command: Command, events: list[str], seconds: float, seed: int) -> list[Fault]:
    """Everything that is done to a command, in a seeded order."""
    rng = random.Random(f"{seed} {command.name}")
    counted: Counter[str] = Counter()  # every process counts its own
    places = []
    for event in events:
        counted[event] += 1
        places.append(f"{counted[event]}:{event.partition(' ')[2]}")
    places = list(dict.fromkeys(places))
    found = [Fault(kind, place) for kind in ("kill", "term", "int") for place in places]
    found += [Fault("enospc", place) for place in places if ":renamed" not in place]
    for kind in SIGNALS:
        found += [Fault(kind, f"{rng.uniform(STARTED, seconds):.2f}") for _ in range(10)]
    found += [Fault("fsize", str(size)) for size in (0, 1, 100, 1_000, 4_096, 10_000, 30_000)]
    found += [
        Fault("damage", f"{pattern} {harm}")
        for pattern in command.damaged
        for harm in ("empty", "cut", "zeros")
    ]
    rng.shuffle(found)
    return found


def disturb(bench: Bench, command: Command, fault: Fault, expected: dict[str, str]) -> dict:
    """One fault and the run after it; `outcome` is `good` or what was wrong."""
    work = bench.folder()
    if fault.kind == "damage":
        bench.run(command, work)
        _damage(work, *fault.where.split(" "))
        first = Ended(0, "", 0.0)
    else:
        first = bench.run(command, work, fault)
    orphans = orphans_of(work)
    before = {} if fault.kind == "damage" else results_of(command, work)
    outcome = _judge_first(command, fault, first, work, expected) or (orphans and "orphan")
    second = bench.run(command, work)
    outcome = outcome or _judge_second(command, second, work, expected, before)
    shutil.rmtree(work)
    leaving = "" if first.leaving is None else f"{first.leaving:.2f}"
    return dict(
        zip(
            COLUMNS,
            (
                command.name,
                fault.kind,
                fault.where,
                first.code,
                second.code,
                leaving,
                outcome or "good",
            ),
            strict=True,
        )
    )


def _damage(work: Path, pattern: str, harm: str) -> None:
    for path in sorted(work.glob(pattern))[:1]:
        content = path.read_bytes()
        new = {"empty": b"", "cut": content[: len(content) // 2], "zeros": bytes(len(content))}
        path.write_bytes(new[harm])


def _judge_first(
    command: Command, fault: Fault, ended: Ended, work: Path, expected: dict[str, str]
) -> str:
    if "Traceback" in ended.stderr:
        return f"traceback: {ended.stderr.strip().splitlines()[-1]}"
    if fault.kind == "damage":
        return ""
    if ended.code == 0:
        return "" if fingerprint(command, work) == expected else "exit 0 with other outputs"
    # while Python itself starts or ends, nobody hears a signal but the system
    outside = fault.timed and ended.code == -SIGNALS[fault.kind]
    return "" if outside or ended.code in ALLOWED[fault.kind] else f"exit code {ended.code}"


def _judge_second(
    command: Command, ended: Ended, work: Path, expected: dict[str, str], before: dict[str, tuple]
) -> str:
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


def write_tables(rows: list[dict], folder: Path) -> None:
    """One row a fault, and the counts by command and kind."""
    from rlassay.engine.files import write_atomically

    counts: Counter[tuple[str, str, bool]] = Counter(
        (row["command"], row["kind"], row["outcome"] == "good") for row in rows
    )
    pairs = sorted({(command, kind) for command, kind, _ in counts})
    table = [
        {
            "command": c,
            "kind": k,
            "faults": counts[c, k, True] + counts[c, k, False],
            "good": counts[c, k, True],
        }
        for c, k in pairs
    ]
    for name, columns, lines in (("faults", COLUMNS, rows), ("counts", tuple(table[0]), table)):
        write_atomically(folder / f"{name}.csv", _csv(columns, lines))


def _csv(columns: tuple[str, ...], rows: list[dict]) -> str:
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def prepared(root: Path) -> Bench:
    """A bench in an empty folder, with the data of all commands."""
    write_data(root / "data.npz")
    return Bench(root, root / "xla")


def main() -> int:
    """Disturb every command; the exit code counts faults that were not survived, at most 100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=45, help="faults a command, at most")
    parser.add_argument("--only", help="commands, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [command.name for command in COMMANDS]
    rows: list[dict] = []
    with tempfile.TemporaryDirectory(prefix="rlassay-faults-") as folder:
        bench = prepared(Path(folder))
        for command in (command for command in COMMANDS if command.name in chosen):
            expected, events, seconds = undisturbed(bench, command)
            print(f"{command.name}: {len(events)} write events, {seconds:.1f} s", flush=True)
            for fault in faults_of(command, events, seconds, options.seed)[: options.each]:
                rows.append(disturb(bench, command, fault, expected))
                print(*rows[-1].values(), flush=True)
                write_tables(rows, options.out)
    bad = sum(row["outcome"] != "good" for row in rows)
    print(f"{len(rows)} faults, {bad} not survived")
    return min(bad, 100)


if __name__ == "__main__":
    sys.exit(main())
