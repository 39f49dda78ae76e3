"""Child process of the mutation test: read damaged datasets under a memory limit, one line a case.

Called with the folder of valid datasets; reads seeds from stdin and answers each with its outcome.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from io_mutations import mutate

from rlassay.errors import DatasetError
from rlassay.formats import load
from rlassay.inspection import inspect

MEMORY = 2 * 2**30  # beyond what the imports take


def main() -> None:
    originals = Path(sys.argv[1])
    _limit_memory()
    for seed in map(int, sys.stdin):
        sys.stdout.write(f"{outcome(originals, seed)}\n")
        sys.stdout.flush()


def outcome(originals: Path, seed: int) -> str:
    """`ok ...` for a valid Dataset or a DatasetError, else what went wrong."""
    layouts = sorted(p.name for p in originals.iterdir())
    name = layouts[seed % len(layouts)]
    with tempfile.TemporaryDirectory() as folder:
        source = next((originals / name).iterdir())
        path = Path(folder) / source.name
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)
        damage = f"{name} {mutate(path, seed)}"
        try:
            data = load(path)
        except DatasetError as error:
            return f"ok refused {damage}" if "\n" not in str(error) else f"BAD message {damage}"
        except BaseException as error:
            return f"BAD {type(error).__name__} {damage}"
        return f"ok read {damage}" if _valid(data) else f"BAD invalid {damage}"


def _valid(data) -> bool:
    """The promises of a Dataset, whatever the numbers in it."""
    rows = len(data)
    columns = (
        data.observations,
        data.actions,
        data.next_observations,
        data.terminals,
        data.timeouts,
        data.next_valid,
    )
    starts = data.episode_starts
    json.dumps(inspect(data).to_dict(), allow_nan=False)
    return (
        rows > 0
        and all(len(column) == rows for column in columns)
        and data.observations.dtype in (np.float32, np.float64)
        and data.terminals.dtype == data.timeouts.dtype == data.next_valid.dtype == np.bool_
        and starts[0] == 0
        and bool((np.diff(starts) > 0).all())
        and not (data.terminals & data.timeouts).any()
        and len(data.fingerprint) == 64
    )


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


if __name__ == "__main__":
    main()
