"""Disturb commands and look at what is left: `python benchmarks/faults.py`; not part of `make test`.

Every command is first run undisturbed, which tells its write events. Then it is killed, terminated, interrupted or given
a full disk at each of them, at seeded random moments, and with a limit on the size of files; and files of its store are
damaged. After each fault the same command runs again and has to end as if nothing had happened. `results/faults/` gets
one file a command with one row a fault, and tables of counts and of the seconds until an interrupted command had left.
`--each N` bounds the faults a command, `--only train,score` the commands; rows of other seeds are kept.
"""

from __future__ import annotations

import argparse
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
from fault_commands import COMMANDS, Command, fingerprint, write_inputs
from fault_judge import (
    GOOD,
    MISSED,
    SIGNALS,
    Ended,
    Fault,
    is_listening,
    judge_first,
    judge_second,
    orphans_of,
    results_of,
)
from fault_tables import rows_of, write_tables

from rlassay.runtime import compilation_cache

STARTED = 0.3  # seconds before which nothing of the program runs yet


@dataclass
class Bench:
    """Where runs happen: one folder a run, removed afterwards; compiled programs are shared."""

    root: Path
    cache: Path
    made: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def folder(self, command: Command) -> Path:
        self.made += 1
        work = self.root / f"work{self.made}"
        work.mkdir()
        for name in command.inputs:
            shutil.copy(self.root / name, work)
        return work

    def run(self, command: Command, work: Path, fault: Fault | None = None, **more: str) -> Ended:
        """Run the command in `work`, disturbed by `fault`."""
        environment = {**os.environ, **self.environment, **more, "RLASSAY_STORE": f"{work}/store"}
        environment |= compilation_cache(self.cache)
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
            start_new_session=True,
        )
        leaving, listening = None, True
        if fault is not None and fault.timed:
            leaving, listening = _interrupt(process, fault)
        _, stderr = process.communicate()
        return Ended(process.returncode, stderr, time.monotonic() - started, leaving, listening)


def _limit(size: int | None) -> None:
    if size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(process: subprocess.Popen, fault: Fault) -> tuple[float | None, bool]:
    """Send the signal in time; SIGINT as a terminal does for Ctrl-C, to the workers as well."""
    try:
        process.wait(float(fault.where))
        return None, True  # it was faster
    except subprocess.TimeoutExpired:
        listening = is_listening(process.pid)
    if fault.kind == "int":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(SIGNALS[fault.kind])
    sent = time.monotonic()
    process.wait()
    return time.monotonic() - sent, listening


def undisturbed(bench: Bench, command: Command) -> tuple[dict[str, str], list[str], float]:
    """Outputs, write events (process, event) in order, and seconds of a run that nothing disturbs; a first one compiles."""
    for attempt in range(2):
        work, trace = bench.folder(command), bench.root / f"trace-{command.name}-{attempt}"
        ended = bench.run(command, work, RLASSAY_FAULT=f"trace@{trace}")
        if ended.code != 0:
            raise SystemExit(f"{command.name} fails undisturbed ({ended.code}): {ended.stderr}")
        expected = fingerprint(command, work)
        shutil.rmtree(work)
        if not bench.cache.exists():
            break
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
    found += [Fault("fsize", str(size)) for size in command.sizes]
    found += [
        Fault("damage", f"{pattern} {harm}")
        for pattern in command.damaged
        for harm in ("empty", "cut", "zeros")
    ]
    rng.shuffle(found)
    return found


def disturb(bench: Bench, command: Command, fault: Fault, expected: dict[str, str]) -> dict:
    """One fault and the run after it; `outcome` is `good`, `missed` or what was wrong."""
    work = bench.folder(command)
    if fault.kind == "damage":
        bench.run(command, work)
        _damage(work, *fault.where.split(" "))
        first = Ended(0, "", 0.0)
    else:
        first = bench.run(command, work, fault)
    orphans = orphans_of(work)
    before = {} if fault.kind == "damage" else results_of(command, work)
    outcome = judge_first(command, fault, first, work, expected) or (orphans and "orphan")
    row = {
        "command": command.name,
        "kind": fault.kind,
        "where": fault.where,
        "code": first.code,
        "rerun": "",
        "listening": "yes" if first.listening else "no",
        "seconds_to_leave": "" if first.leaving is None else f"{first.leaving:.2f}",
    }
    if outcome != MISSED:
        second = bench.run(command, work)
        outcome = outcome or judge_second(command, second, work, expected, before)
        row["rerun"] = second.code
    shutil.rmtree(work)
    return row | {"outcome": outcome or GOOD}


def _damage(work: Path, pattern: str, harm: str) -> None:
    for path in sorted(work.glob(pattern))[:1]:
        content = path.read_bytes()
        new = {"empty": b"", "cut": content[: len(content) // 2], "zeros": bytes(len(content))}
        path.write_bytes(new[harm])


def prepared(root: Path) -> Bench:
    """A bench in an empty folder, with the data of all commands."""
    write_inputs(root)
    return Bench(root, root / "xla")


def main() -> int:
    """Disturb every command; the exit code counts faults that were not survived, at most 100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=45, help="faults a command, at most")
    parser.add_argument("--only", help="commands, separated by commas")
    parser.add_argument("--kinds", default="kill,term,int,enospc,fsize,damage")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--again", action="store_true", help="repeat what was not survived")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [command.name for command in COMMANDS]
    count = bad = 0
    with tempfile.TemporaryDirectory(prefix="rlassay-faults-") as folder:
        bench = prepared(Path(folder))
        for command in (command for command in COMMANDS if command.name in chosen):
            known = rows_of(command.name, options.seed, options.out) if options.again else []
            failed = [row for row in known if row["outcome"] not in (GOOD, MISSED)]
            if options.again and not failed:
                continue
            expected, events, seconds = undisturbed(bench, command)
            print(f"{command.name}: {len(events)} write events, {seconds:.1f} s", flush=True)
            faults = faults_of(command, events, seconds, options.seed)
            faults = [fault for fault in faults if fault.kind in options.kinds.split(",")]
            faults = faults[: options.each]
            if options.again:
                faults = [Fault(row["kind"], row["where"]) for row in failed]
            rows = [row for row in known if row not in failed]
            for fault in faults:
                rows.append({"seed": options.seed, **disturb(bench, command, fault, expected)})
                print(*rows[-1].values(), flush=True)
                write_tables(rows, options.out)
            count += len(faults)
            bad += sum(row["outcome"] not in (GOOD, MISSED) for row in rows)
    print(f"{count} faults, {bad} not survived")
    return min(bad, 100)


if __name__ == "__main__":
    sys.exit(main())
