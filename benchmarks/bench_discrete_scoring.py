"""All scores of 1,000,000 transitions of CartPole's shape beside those of Hopper's: `python benchmarks/bench_discrete_scoring.py`.

Made-up data of both shapes, the command `rlassay score FILE --all --no-store` in a fresh process, both in turns, the best of the
rounds. Writes results/bench/discrete_scoring.csv; ends with 1 if the discrete data takes longer.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "results" / "bench" / "discrete_scoring.csv"
SHAPES = {"CartPole": (4, None, 200), "Hopper": (11, 3, 300)}  # observations, actions, mean length


def make_data(shape: str, rows: int):
    """Walks that end at random; discrete actions pay 1 a step, continuous ones what they and the state say."""
    from rlassay.data.dataset import Dataset, Origin

    observations, actions, length = SHAPES[shape]
    rng = np.random.default_rng(0)
    states = rng.normal(size=(rows, observations)).astype(np.float32)
    for _ in range(3):  # smooth along the rows
        states[1:] += 0.9 * states[:-1]
    ends = rng.random(rows) < 1 / length
    if actions is None:
        taken = (states[:, :1] + rng.normal(size=(rows, 1)) > 0).astype(np.int64)
        rewards, low, high = np.ones(rows, np.float32), np.zeros(1), np.ones(1)
    else:
        taken = np.tanh(states[:, :actions] + rng.normal(size=(rows, actions))).astype(np.float32)
        rewards, low, high = taken[:, 0] + states[:, 0], -np.ones(actions), np.ones(actions)
    origin = Origin(source=shape, action_low=low, action_high=high)
    columns = {"observations": states, "actions": taken, "rewards": rewards, "terminals": ends}
    return Dataset.from_columns(**columns, origin=origin)


def score(path: Path) -> tuple[float, float]:
    """Seconds of the command, on the clock and of the processor."""
    command = [sys.executable, "-m", "rlassay", "score", str(path), "--all", "--no-store"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, "--json", "-"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"scoring failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, busy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=TARGET)
    asked = parser.parse_args()
    from rlassay.formats import save
    from rlassay.study.grid.files import write_table

    timed: dict[str, list[tuple[float, float]]] = {shape: [] for shape in SHAPES}
    with tempfile.TemporaryDirectory() as folder:
        paths = {shape: Path(folder) / f"{shape}.npz" for shape in SHAPES}
        for shape, path in paths.items():
            save(make_data(shape, asked.rows), path)
        for _ in range(asked.rounds):
            for shape, path in paths.items():
                timed[shape].append(score(path))
    best = {
        shape: [min(column) for column in zip(*found, strict=True)]
        for shape, found in timed.items()
    }
    rows = [
        {
            "shape": shape,
            "rows": asked.rows,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(busy, 1),
            "ratio": round(seconds / best["Hopper"][0], 2),
            "cpu_ratio": round(busy / best["Hopper"][1], 2),
            "load": round(os.getloadavg()[0], 1),
            "machine": platform.machine(),
        }
        for shape, (seconds, busy) in best.items()
    ]
    about = {"command": "python benchmarks/bench_discrete_scoring.py", "rounds": asked.rounds}
    write_table(asked.out, rows, list(rows[0]), about)
    print(*rows, sep="\n")
    return int(best["CartPole"][0] > best["Hopper"][0])


if __name__ == "__main__":
    sys.exit(main())
