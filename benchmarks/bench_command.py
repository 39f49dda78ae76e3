"""What `rlassay score` costs a user, and where its seconds go: before and after, on files from 2,000 to 1,000,000 rows.

    python benchmarks/bench_command.py        # writes results/bench/command.csv; --rows 2000,100000 for some sizes only

The files have the shapes of third parties' data and are made here: D4RL's HDF5, robomimic's demonstrations, an `.npz` of
HalfCheetah's dimensions, a folder of `.npy`, and a long D4RL file. Two more are datasets of the studies, rolled out from the
zoo in HalfCheetah: what an agent did, where the others hold noise. For each, processes one after another:

- `before`: all that `score` did in version 0.1 for these scores: compiled networks, every step, compilation cache filled;
- `empty cache`: `score` with a store of its own that is empty;
- `score`: the same with the compilation cache filled by another file of that shape;
- `again`: the same file a second time, from the run store;
- `all scores`: `score --all`, cache filled.

Parts of a row sum to its wall seconds: `start` (Python, command line and our own modules), `import` (JAX and optax, measured in
a process of their own where they are needed), then the card's load, compile, critic, transport, and the rest. Processor
seconds stand beside: on a busy machine only they compare. The goal is 5 s for `score` and 1.5 s for `again` at 100,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay import formats
from rlassay.data.dataset import Dataset, Origin
from rlassay.scoring.registry import FIRST_ASKED
from rlassay.study.grid.files import write_table

ROOT = Path(__file__).resolve().parent.parent
LONG = ("--set", "critic.settle=false", "--set", "baselines.fit_settle=false")
PARTS = ("load", "compile", "critic", "transport")


@dataclass(frozen=True)
class Shape:
    """A file as somebody else would bring it."""

    name: str
    suffix: str
    rows: int
    dims: tuple[int, int]  # observations, actions
    length: int  # rows of an episode
    recorded: str = ""  # the dataset of the studies that it is; else it is made here


SHAPES = (
    Shape("demonstrations", ".hdf5", 2_000, (19, 7), 50),
    Shape("Hopper", ".hdf5", 20_000, (11, 3), 250),
    Shape("HalfCheetah", ".npz", 100_000, (17, 6), 1_000),
    Shape("HalfCheetah medium", ".hdf5", 100_000, (17, 6), 1_000, "medium"),
    Shape("HalfCheetah expert", ".hdf5", 100_000, (17, 6), 1_000, "expert"),
    Shape("robot log", "", 300_000, (32, 8), 600),
    Shape("Walker", ".hdf5", 1_000_000, (17, 6), 1_000),
)


def of_shape(shape: Shape, seed: int) -> Dataset:
    """Seed 0 is the file that is measured, seed 1 another of its shape."""
    return (
        recorded(shape.recorded if seed == 0 else "random") if shape.recorded else made(shape, seed)
    )


def recorded(name: str) -> Dataset:
    """Rolled out where the run store does not hold it."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.plan import LITE

    found = study_data("HalfCheetah-v5", [name], LITE, ROOT / "zoo", print)
    return formats.load(found[name].path)


def made(shape: Shape, seed: int) -> Dataset:
    """States that wander, actions that follow them with a skill of the episode, rewards for skill."""
    rng = np.random.default_rng(seed)
    states, actions = shape.dims
    episodes = shape.rows // shape.length
    noise = rng.normal(size=(episodes, shape.length, states)).astype(np.float32)
    observations = noise
    for t in range(1, shape.length):  # in place: the noise becomes the walk
        observations[:, t] = 0.95 * observations[:, t - 1] + 0.3 * noise[:, t]
    skill = rng.uniform(0.2, 1.0, (episodes, 1, 1)).astype(np.float32)
    wanted = np.tanh(observations @ rng.normal(size=(states, actions)).astype(np.float32) / states)
    chosen = skill * wanted + (1 - skill) * rng.uniform(-1, 1, wanted.shape)
    rewards = 1.0 - ((chosen - wanted) ** 2).mean(axis=2)
    timeouts = np.zeros((episodes, shape.length), bool)
    timeouts[:, -1] = True
    bounds = np.ones(actions, np.float32)
    return Dataset.from_columns(
        observations=observations.reshape(-1, states),
        actions=chosen.reshape(-1, actions).astype(np.float32),
        rewards=rewards.ravel().astype(np.float32),
        terminals=np.zeros(episodes * shape.length, bool),
        timeouts=timeouts.ravel(),
        origin=Origin(action_low=-bounds, action_high=bounds),
    )


def write(data: Dataset, path: Path) -> None:
    """Under its suffix; without one a folder of `.npy`."""
    if path.suffix:
        formats.save(data, path)
        return
    path.mkdir()
    for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
        np.save(path / f"{name}.npy", getattr(data, name))


def measure(arguments: Sequence[str], store: Path) -> tuple[dict[str, float], str]:
    """Wall and processor seconds of one process, and what it printed."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "RLASSAY_STORE": str(store)}
    done = subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": wall, "cpu_seconds": used}, done.stdout


def scored(path: Path, store: Path, *words: str) -> dict[str, Any]:
    """One `rlassay score`, with its parts."""
    command = ["-m", "rlassay", "score", str(path), "--json", "-", *words]
    times, printed = measure(command, store)
    inside = json.loads(printed)["seconds"]
    parts = {name: inside[name] for name in PARTS}
    return times | parts | {"rest": inside["total"] - sum(parts.values())}


def import_seconds(store: Path) -> float:
    """What JAX and optax take to be imported, beside Python and NumPy."""
    plain, heavy = (
        measure(["-c", code], store)[0]["seconds"]
        for code in ("import numpy", "import numpy, jax, optax")
    )
    return heavy - plain


def runs_of(shape: Shape, folder: Path) -> list[dict[str, Any]]:
    """Every row of one file."""
    path, other = (folder / f"{name}{shape.suffix}" for name in ("data", "other"))
    write(of_shape(shape, 0), path)
    write(of_shape(shape, 1), other)
    store, empty = folder / "store", folder / "empty"
    first = ("--scores", ",".join(FIRST_ASKED))
    scored(other, store, *first, *LONG, "--no-store")  # fills the cache
    scored(other, store, "--all", "--no-store")
    importing = import_seconds(store)
    works = {
        "before": (store, True, (*first, *LONG, "--no-store")),
        "empty cache": (empty, False, ()),
        "score": (store, False, ()),
        "again": (store, False, ()),
        "all scores": (store, True, ("--all", "--no-store")),
    }
    rows = []
    for work, (place, jax, words) in works.items():
        found = scored(path, place, *words)
        inside = sum(found[name] for name in (*PARTS, "rest"))
        found["import"] = importing if jax else 0.0
        found["start"] = found["seconds"] - inside
        found["rest"] -= found["import"]  # modules are imported while the card is made
        rows.append({"file": shape.name, "rows": shape.rows, "work": work, **_ordered(found)})
        print(rows[-1], flush=True)
    return rows


def _ordered(found: dict[str, float]) -> dict[str, float]:
    names = ("seconds", "cpu_seconds", "start", "import", *PARTS, "rest")
    return {name: round(found[name], 2) for name in names}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", default=",".join(str(shape.rows) for shape in SHAPES))
    options.add_argument("--out", type=Path, default=Path("results/bench/command.csv"))
    given = options.parse_args()
    wanted = {int(count) for count in given.rows.split(",")}
    rows: list[dict[str, Any]] = []
    for shape in SHAPES:
        if shape.rows in wanted:
            with tempfile.TemporaryDirectory() as folder:
                rows += runs_of(shape, Path(folder))
    about = {"command": "python benchmarks/bench_command.py", "load": round(os.getloadavg()[0], 1)}
    write_table(given.out, rows, list(rows[0]), about)


if __name__ == "__main__":
    main()
