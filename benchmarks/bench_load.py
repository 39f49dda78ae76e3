"""Loading a D4RL file against reading the same arrays with bare h5py: time and peak memory.

    python benchmarks/bench_load.py            # writes results/bench/load.csv

The file has 1,000,000 transitions of HalfCheetah's shape and is compressed with gzip as D4RL's are. Each measurement
runs in its own process; the two sides alternate and the best time of each counts, because other work on the machine
only ever adds; the processor time beside it shows the same without the waiting. The targets: at most 1.5 times the time, at most 2.2 times the arrays in memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

COLUMNS = ("observations", "actions", "rewards", "terminals", "timeouts")
SIDES = ("h5py", "rlassay")
TARGET_TIME, TARGET_MEMORY = 1.5, 2.2


def write_file(path: Path, rows: int, *, next_observations: bool) -> None:
    """Smooth numbers with noise in the last bits, so that gzip works as hard as on real data."""
    rng = np.random.default_rng(0)
    observations = np.cumsum(rng.normal(size=(rows + 1, 17)), axis=0).astype("f4")
    with h5py.File(path, "w") as file:
        write = lambda name, column: file.create_dataset(name, data=column, compression="gzip")  # noqa: E731
        write("observations", observations[:-1])
        if next_observations:
            write("next_observations", observations[1:])
        write("actions", np.tanh(rng.normal(size=(rows, 6))).astype("f4"))
        write("rewards", rng.normal(size=rows).astype("f4"))
        write("terminals", np.zeros(rows, bool))
        write("timeouts", np.arange(rows) % 1000 == 999)


def read_bare(path: Path) -> int:
    """The arrays as h5py gives them; their bytes."""
    with h5py.File(path, "r") as file:
        arrays = [file[name][()] for name in file]  # type: ignore[index]
    return sum(array.nbytes for array in arrays)


def read_rlassay(path: Path) -> int:
    from rlassay.formats import load

    data = load(path)
    return sum(getattr(data, name).nbytes for name in COLUMNS)


def measure(side: str, path: Path) -> None:
    """In the child: one reading, its seconds and the peak of the process, as JSON."""
    import rlassay.formats.d4rl  # noqa: F401  both sides start from the same imports

    before = peak()
    start, cpu = time.perf_counter(), time.process_time()
    (read_bare if side == "h5py" else read_rlassay)(path)
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**spent, "peak": peak(), "grown": peak() - before}))


def peak() -> int:
    """Peak resident bytes of this process; getrusage would count the parent's, which outlives exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def in_child(side: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", side, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(path: Path, repetitions: int) -> dict[str, float]:
    """Both sides in turn; the best of each."""
    read_bare(path)  # the file is in the page cache for both
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(repetitions):
        for side in SIDES:
            runs[side].append(in_child(side, path))
    best = {side: min(run["seconds"] for run in runs[side]) for side in SIDES}
    cpu = {side: min(run["cpu"] for run in runs[side]) for side in SIDES}
    size = read_bare(path)
    return {
        "array_bytes": size,
        "h5py_seconds": round(best["h5py"], 4),
        "rlassay_seconds": round(best["rlassay"], 4),
        "time_ratio": round(best["rlassay"] / best["h5py"], 3),
        "cpu_time_ratio": round(cpu["rlassay"] / cpu["h5py"], 3),
        "memory_ratio": round(min(run["grown"] for run in runs["rlassay"]) / size, 3),
        "whole_process_ratio": round(min(run["peak"] for run in runs["rlassay"]) / size, 3),
        "h5py_memory_ratio": round(min(run["grown"] for run in runs["h5py"]) / size, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=2, metavar=("SIDE", "PATH"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/bench/load.csv"))
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure[0], Path(options.measure[1]))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, stored in (
            ("with next_observations", True),
            ("without next_observations", False),
        ):
            path = Path(folder) / "halfcheetah-medium-v2.hdf5"
            write_file(path, options.rows, next_observations=stored)
            rows.append({"file": name, "rows": options.rows, **compare(path, options.repetitions)})
            print(rows[-1])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    met = all(
        r["time_ratio"] <= TARGET_TIME and r["whole_process_ratio"] <= TARGET_MEMORY for r in rows
    )
    print("targets met" if met else "targets missed")
    return sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
