"""What data larger than memory and many datasets cost: peak memory, seconds, and the bare reading beside them.

    python benchmarks/bench_scale.py                       # 1, 10 and 50 million rows, then 200 datasets
    python benchmarks/bench_scale.py --rows 1000000        # one size
    python benchmarks/bench_scale.py --datasets 40 --only many --kinds made
    python benchmarks/bench_scale.py --folder DIR --make   # only make the files; the same without --make measures them

Writes results/bench/scale.csv (one row a size and command), results/bench/many.csv (one row a number of workers) and
results/bench/bill.csv (what the other two come to at internet scale). Files have HalfCheetah's shape (17 observations,
6 actions, 98 bytes a row) and are gzipped as D4RL's are; they are made here and deleted behind their rows; those of --folder stay. A size that
does not fit on the disk is skipped with a sentence. Many datasets are either made the same way, which leaves a critic nothing
but noise to learn, or `rolled out`: 20 episodes of one of the HalfCheetah datasets of the studies, drawn by a seed. Every command runs in a process of its own with one compute thread; the
peak is the system's count of resident memory (ru_maxrss).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ROWS = (1_000_000, 10_000_000, 50_000_000)
BYTES_A_ROW = 98
LENGTH = 1_000
ROWS_EACH = 20_000  # of each of many datasets
PART = 1_000_000  # rows made at once
MEMORY = 10**9  # bytes a process may hold
TARGET_BYTES = 1.5e9
COMMANDS = ("inspect", "score", "convert", "curate")
SIZE_COLUMNS = ("rows", "command", "seconds", "cpu_seconds", "peak_bytes", "times_bare", "parts")
KINDS = ("rolled out", "made")
MANY_COLUMNS = (
    "data",
    "datasets",
    "rows_each",
    "workers",
    "seconds",
    "seconds_a_dataset",
    "speedup",
)
BILL_COLUMNS = ("work", "measured_at", "cpu_seconds_each", "core_hours")
MEASURED = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True)
seconds = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024,
                  "code": done.returncode, "stdout": done.stdout}))
"""
BARE = """
import sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    for name in file:
        column = file[name]
        step = (column.chunks or (1,))[0] * max(1, 2**23 // (column.nbytes // len(column) * (column.chunks or (1,))[0]))
        for first in range(0, len(column), step):
            column[first : first + step]
"""
INSPECT_PARTS = """
import json, sys, time
clock, parts = time.perf_counter(), {}
def part(name):
    global clock
    parts[name], clock = time.perf_counter() - clock, time.perf_counter()
from rlassay.formats import load
from rlassay.inspection import CHECKS
part("start")
data = load(sys.argv[1], memory=int(sys.argv[2]))
part("load")
for check in CHECKS:
    check(data)
    part(check.__name__)
print(json.dumps(parts))
"""
NAMED = 3  # checks whose seconds are told; the others are one sum


def write_file(path: Path, rows: int, seed: int = 0) -> None:
    """Smooth numbers with noise in the last bits, a part at a time."""
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:

        def column(name: str, width: int | None, kind: str) -> Any:
            shape = (rows,) if width is None else (rows, width)
            chunks = (min(rows, 16_384),) if width is None else (min(rows, 16_384), width)
            return file.create_dataset(name, shape, kind, chunks=chunks, compression="gzip")

        observations, actions = column("observations", 17, "f4"), column("actions", 6, "f4")
        rewards, timeouts = column("rewards", None, "f4"), column("timeouts", None, "?")
        column("terminals", None, "?")
        for first in range(0, rows, PART):
            count = min(PART, rows - first)
            step = (first + np.arange(count)) % LENGTH
            level = rng.normal(size=-(-count // LENGTH) + 1)[np.arange(count) // LENGTH]
            chosen = np.tanh(rng.normal(size=(count, 6)))
            waves = np.sin(step[:, None] / (5 + np.arange(17))) + 0.05 * rng.normal(
                size=(count, 17)
            )
            observations[first : first + count] = waves.astype("f4")
            actions[first : first + count] = chosen.astype("f4")
            rewards[first : first + count] = (level + chosen[:, 0] + waves[:, 0]).astype("f4")
            timeouts[first : first + count] = step == LENGTH - 1


def measured(words: list[str], folder: Path) -> dict[str, Any]:
    """Seconds, processor seconds and peak memory of one command."""
    environment = {**os.environ, "RLASSAY_STORE": str(folder / "store")}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=True,
    )
    return json.loads(done.stdout)


def command_words(command: str, path: Path, folder: Path) -> list[str]:
    rlassay = [sys.executable, "-m", "rlassay"]
    out = str(folder / f"{command}.hdf5")
    words = {
        "inspect": ["inspect", str(path), "--json", str(folder / "inspection.json")],
        "score": ["score", str(path), "--no-store", "--json", "-"],
        "convert": ["convert", str(path), out],
        "curate": ["curate", str(path), "--keep", "0.5", "--by", "return", "-o", out],
    }
    return [*rlassay, *words[command], "--memory", str(MEMORY)]


def made_file(folder: Path, rows: int) -> Path:
    """The file of so many rows; one that was made before is taken as it is."""
    path = folder / str(rows) / "halfcheetah_medium-v2.hdf5"  # the name tells the task
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path.with_suffix(".part"), rows)
        path.with_suffix(".part").rename(path)
    return path


def made_files(folder: Path, kind: str, count: int, rows: int) -> Path:
    """The folder of many datasets."""
    path = folder / f"{kind.replace(' ', '-')}-{count}"
    if not path.exists():
        part = path.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        if kind == "made":
            for number in range(count):
                write_file(part / f"data-{number:04d}.hdf5", rows, seed=number)
        else:
            write_rolled_out(part, count, rows)
        part.rename(path)
    return path


def write_rolled_out(folder: Path, count: int, rows: int) -> None:
    """Whole episodes of the studies' datasets, which are rolled out where the run store does not hold them."""
    from rlassay import formats
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.plan import LITE, ORACLE_DATASETS

    data = study_data("HalfCheetah-v5", ORACLE_DATASETS, LITE, ROOT / "zoo", print)
    loaded = {name: formats.load(each.path) for name, each in data.items()}
    for number in range(count):
        name = ORACLE_DATASETS[number % len(ORACLE_DATASETS)]
        source = loaded[name]
        order = np.random.default_rng(number).permutation(source.episode_count)
        chosen = np.sort(order[: rows // LENGTH])
        formats.save(source.select(chosen), folder / f"{name}-{number:04d}.hdf5")


def rows_of_size(rows: int, path: Path, folder: Path, commands: list[str]) -> list[dict[str, Any]]:
    """One row a command, the bare reading first."""
    bare = measured([sys.executable, "-c", BARE, str(path)], folder)
    found = [_row(rows, "bare h5py", bare, bare, "")]
    for command in commands:
        told = measured(command_words(command, path, folder), folder)
        if told["code"] not in (0, 1):
            raise SystemExit(f"{command} of {rows:,} rows ended with code {told['code']}")
        parts = {}
        if command == "score":
            parts = json.loads(told["stdout"])["seconds"]
        if command == "inspect":
            parts = inspect_parts(path, folder)
        shown = " ".join(f"{name} {value:.1f}" for name, value in parts.items())
        found.append(_row(rows, command, told, bare, shown))
        print(found[-1], file=sys.stderr, flush=True)
        (folder / f"{command}.hdf5").unlink(missing_ok=True)
    return found


def inspect_parts(path: Path, folder: Path) -> dict[str, float]:
    """Seconds of starting, loading and the longest checks, from a run of their own."""
    words = [sys.executable, "-c", INSPECT_PARTS, str(path), str(MEMORY)]
    parts: dict[str, float] = json.loads(measured(words, folder)["stdout"])
    head = {name: parts.pop(name) for name in ("start", "load")}
    longest = sorted(parts, key=lambda name: -parts[name])[:NAMED]
    named = {name: parts.pop(name) for name in longest}
    return {**head, **named, "other_checks": sum(parts.values())}


def _row(rows: int, name: str, told: dict[str, Any], bare: dict[str, Any], parts: str) -> dict:
    return {
        "rows": rows,
        "command": name,
        "seconds": round(told["seconds"], 2),
        "cpu_seconds": round(told["cpu"], 2),
        "peak_bytes": told["peak"],
        "times_bare": round(told["cpu"] / bare["cpu"], 2),
        "parts": parts,
    }


def many_datasets(
    kind: str, data: Path, rows: int, workers: list[int], folder: Path
) -> list[dict[str, Any]]:
    """`score --out` over many files with one worker and with several, each from an empty store."""
    count = len(list(data.iterdir()))
    found: list[dict[str, Any]] = []
    for each in workers:
        cards = folder / f"cards-{each}"
        for old in (folder / "store", cards):
            shutil.rmtree(old, ignore_errors=True)
        words = [sys.executable, "-m", "rlassay", "score", str(data), "--out"]
        began = time.perf_counter()
        told = measured([*words, str(cards), "--workers", str(each)], folder)
        seconds = time.perf_counter() - began
        if told["code"] != 0:
            raise SystemExit(f"{each} workers ended with code {told['code']}")
        found.append(
            {
                "data": kind,
                "datasets": count,
                "rows_each": rows,
                "workers": each,
                "seconds": round(seconds, 1),
                "seconds_a_dataset": round(seconds / count, 3),
            }
        )
        print(found[-1], file=sys.stderr, flush=True)
    return found


def merged(path: Path, rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """The table's rows, these in the place of older ones with the same keys, in the order of the first key."""

    def name(row: dict[str, Any]) -> list[str]:
        return [str(row[key]) for key in keys]

    known = [name(row) for row in rows]
    old = [row for row in _table(path) if name(row) not in known]
    return sorted([*old, *rows], key=lambda row: [*map(_place, name(row))])


def _place(name: str) -> int:
    """Commands in their order behind the bare reading, kinds of data in theirs; numbers as they are."""
    if name.isdigit():
        return int(name)
    order = (*COMMANDS, *KINDS)
    return order.index(name) if name in order else -1


def save(path: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def with_speedup(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each number of workers against one worker on the same datasets."""

    def alike(row: dict[str, Any]) -> list[str]:
        return [str(row[name]) for name in ("data", "datasets", "rows_each")]

    found = []
    for row in rows:
        one = [each for each in rows if int(each["workers"]) == 1 and alike(each) == alike(row)]
        base = one[0] if one else None
        speedup = round(float(base["seconds"]) / float(row["seconds"]), 2) if base else ""
        found.append({**row, "speedup": speedup})
    return found


def bill(results: Path) -> list[dict[str, Any]]:
    """What the measured costs come to at internet scale, in processor hours; made of the two tables and nothing else."""
    rows = _table(results / "scale.csv")
    largest = max((int(row["rows"]) for row in rows), default=0)
    found = []
    for row in rows:
        if int(row["rows"]) == largest and row["command"] in COMMANDS:
            per_million = float(row["cpu_seconds"]) / largest * 1e6
            found.append(
                {
                    "work": f"{row['command']} of one dataset of 10^10 transitions",
                    "measured_at": f"{largest:,} transitions",
                    "cpu_seconds_each": f"{per_million:.2f} a million",
                    "core_hours": round(per_million * 1e4 / 3_600, 1),
                }
            )
    for row in _table(results / "many.csv"):
        if int(row["workers"]) == 1:
            each = float(row["seconds_a_dataset"])
            found.append(
                {
                    "work": "score --out of 10,000 datasets of 20,000 transitions",
                    "measured_at": f"{row['datasets']} datasets, {row['data']}, one worker",
                    "cpu_seconds_each": f"{each:.2f} a dataset",
                    "core_hours": round(each * 1e4 / 3_600, 1),
                }
            )
    return found


def _table(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS))
    parser.add_argument("--datasets", type=int, default=200)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", choices=["sizes", "many"])
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "bench")
    parser.add_argument("--folder", type=Path, help="make the files here, take those that are here")
    parser.add_argument("--make", action="store_true", help="make the files in --folder and stop")
    given = parser.parse_args()
    if given.make and not given.folder:
        parser.error("--make needs --folder")
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
    sizes = [] if given.only == "many" else given.rows
    count = 0 if given.only == "sizes" else given.datasets
    with tempfile.TemporaryDirectory(prefix="rlassay-scale-", dir=given.folder) as name:
        if given.make:
            for rows in sizes:
                made_file(given.folder, rows)
            for kind in given.kinds if count else ():
                made_files(given.folder, kind, count, ROWS_EACH)
        else:
            for rows in sizes:
                measure_size(rows, given, Path(name))
            for kind in given.kinds if count else ():
                measure_many(kind, count, given, Path(name))
            save(given.results / "bill.csv", BILL_COLUMNS, bill(given.results))


def measure_size(rows: int, given: argparse.Namespace, scratch: Path) -> None:
    """Its rows in scale.csv, with a sentence where memory is above the target."""
    needed = 3 * rows * BYTES_A_ROW  # the file, a copy, and what is unpacked on the way
    if needed > shutil.disk_usage(scratch).free:
        print(f"{rows:,} rows are skipped: {needed:,} bytes do not fit on the disk")
        return
    path = made_file(given.folder or scratch, rows)
    found = rows_of_size(rows, path, scratch, given.commands)
    if not given.folder:
        path.unlink()
    table = given.results / "scale.csv"
    save(table, SIZE_COLUMNS, merged(table, found, "rows", "command"))
    for row in found[1:]:
        if row["peak_bytes"] > TARGET_BYTES:
            print(
                f"{row['command']} of {rows:,} rows: {row['peak_bytes']:,} bytes, above the target"
            )


def measure_many(kind: str, count: int, given: argparse.Namespace, scratch: Path) -> None:
    data = made_files(given.folder or scratch, kind, count, ROWS_EACH)
    found = many_datasets(kind, data, ROWS_EACH, given.workers, scratch)
    table = given.results / "many.csv"
    save(table, MANY_COLUMNS, with_speedup(merged(table, found, "data", "datasets", "workers")))


if __name__ == "__main__":
    main()
