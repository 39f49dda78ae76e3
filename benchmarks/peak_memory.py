"""How much memory `inspect` takes beyond its imports: `python benchmarks/peak_memory.py --megabytes 200`.

One child process a format, whose peak is that of the system's own count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DIMENSIONS = (17, 6)
BYTES_A_ROW = 4 * (sum(DIMENSIONS) + 1) + 2
CHILD = """
import resource, sys
import h5py, rlassay.cli, rlassay.formats.d4rl, rlassay.formats.npz
from rlassay.inspection import inspect_source
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
inspect_source(sys.argv[1])
print(peak() - before)
"""


def write(path: Path, megabytes: int) -> None:
    """Random rows, which do not compress."""
    from rlassay.formats import load, save

    rows = megabytes * 2**20 // BYTES_A_ROW
    rng = np.random.default_rng(0)
    ends = np.arange(rows) % 1_000 == 999
    columns = {
        "observations": rng.normal(size=(rows, DIMENSIONS[0])).astype(np.float32),
        "actions": rng.uniform(-1, 1, (rows, DIMENSIONS[1])).astype(np.float32),
        "rewards": rng.normal(size=rows).astype(np.float32),
        "terminals": np.zeros(rows, bool),
        "timeouts": ends,
    }
    save(load(columns), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--formats", default="npz,hdf5")
    given = parser.parse_args()
    content = given.megabytes * 2**20
    with tempfile.TemporaryDirectory(prefix="rlassay-peak-") as folder:
        for ending in given.formats.split(","):
            path = Path(folder, f"data.{ending}")
            write(path, given.megabytes)
            told = subprocess.run(
                [sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True
            )
            peak = int(told.stdout)
            size = os.path.getsize(path)
            print(
                f"{ending}: {size / 2**20:.0f} MB on disk, {content / 2**20:.0f} MB of rows, "
                f"peak {peak / 2**20:.0f} MB, {peak / content:.2f} times the rows"
            )


if __name__ == "__main__":
    main()
