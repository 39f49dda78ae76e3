"""What `rlassay score` costs a user: all scores, one seed, on 100,000 and on 1,000,000 transitions.

    python benchmarks/bench_command.py        # writes results/bench/command.csv

The files are the bundled medium sample repeated with a little noise on the observations, in D4RL's layout. Wall and
processor seconds of the whole command, start of Python and reading included: first with an empty compilation cache, then
again. Two seeds more show what seeds cost. The target: at most 30 s for 100,000 transitions, and ten times the rows cost
no more than reading them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rlassay import formats
from rlassay.data.dataset import Dataset
from rlassay.samples import paths
from rlassay.study.grid.files import write_table

ROWS = (100_000, 1_000_000)
LOAD = "import rlassay, sys; rlassay.load(sys.argv[1])"


def repeated(rows: int) -> Dataset:
    """Whole episodes of the medium sample until there are `rows` rows."""
    sample = formats.load(next(path for path in paths() if "medium" in path.name))
    copies = -(-rows // len(sample))
    rng = np.random.default_rng(0)
    columns = {
        name: np.concatenate([getattr(sample, name)] * copies)
        for name in ("observations", "actions", "rewards", "terminals", "timeouts")
    }
    noise = rng.normal(scale=1e-3, size=columns["observations"].shape)
    columns["observations"] = (columns["observations"] + noise).astype(np.float32)
    return Dataset.from_columns(**columns, origin=sample.origin)


def measure(arguments: list[str], store: Path) -> dict[str, float]:
    """Wall and processor seconds of one process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "RLASSAY_STORE": str(store)},
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(wall, 2), "cpu_seconds": round(used, 2)}


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        for count in ROWS:
            data, path = repeated(count), Path(folder) / f"{count}.hdf5"
            formats.save(data, path)
            score = ["-m", "rlassay", "score", str(path), "--json", "-", "--seeds"]
            for work, arguments in (
                ("start and load", ["-c", LOAD, str(path)]),
                ("score, first time", [*score, "1"]),
                ("score again", [*score, "1"]),
                ("score, three seeds", [*score, "3"]),
            ):
                rows.append({"rows": len(data), "work": work, **measure(arguments, store)})
                print(rows[-1], flush=True)
    about = {"command": "python benchmarks/bench_command.py", "load": round(os.getloadavg()[0], 1)}
    write_table(Path("results/bench/command.csv"), rows, list(rows[0]), about)


if __name__ == "__main__":
    main()
