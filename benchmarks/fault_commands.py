"""The commands that are disturbed, each small enough to run hundreds of times, and what they have to leave behind."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CHANGING = {"seconds", "evaluation_seconds", "command", "software", "commit"}  # of equal results
TRAINING = ("updates=60", "batch_size=32", "width=16", "eval_every=20", "eval_episodes=1")
COLLECTING = (
    "td3.random_steps=200",
    "td3.batch_size=16",
    "td3.hidden=16",
    "td3.eval_every=400",
    "td3.eval_episodes=1",
    "td3.checkpoint_every=200",
    "levels=0,400,1200",
    "transitions=400",
)


@dataclass(frozen=True)
class Command:
    """One command line, run in a folder of its own with its `inputs`; `outputs` are compared with an undisturbed run.

    `results` are patterns of files that are not made again once they are there; `damaged` those of the store or the run
    that are damaged on purpose. With `workers` a fault may hit one of them, which the command then tells of. `sizes` are
    limits on the size of files.
    """

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    results: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    workers: bool = False
    inputs: tuple[str, ...] = ("data.npz",)
    sizes: tuple[int, ...] = (0, 1, 100, 1_000, 4_096, 10_000)
    launcher: tuple[str, ...] = ("-m", "rlassay")
    environment: dict[str, str] = field(default_factory=dict)


def settings(pairs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for pair in pairs for word in ("--set", pair))


STORED = ("store/runs/*/*/result.json", "store/runs/*/*/task.json", "store/runs/*/*/state.npz")
STREAMED = ("--memory", "10MB")  # of which the flags and rewards of long data take a tenth
SIZES_OF_LONG = (0, 1_000, 100_000, 1_000_000, 4_000_000, 9_000_000)  # of 11 MB
MANY = tuple(f"data{number}.npz" for number in range(6))
COMMANDS = (
    Command(
        "convert",
        ("convert", "data.npz", "out.hdf5", "--force"),
        ("out.hdf5",),
    ),
    Command(
        "convert-minari",
        ("convert", "data.npz", "out/steps-v0", "--force"),
        ("out/steps-v0/data/*",),
    ),
    Command(
        "curate",
        (
            "curate",
            "data.npz",
            "--keep",
            "0.5",
            "--by",
            "return",
            "-o",
            "better.npz",
            "--force",
            "--json",
            "curation.json",
        ),
        ("better.npz", "curation.json"),
    ),
    Command(
        "repair",
        ("repair", "broken.npz", "-o", "mended.npz", "--force", "--json", "repair.json"),
        ("mended.npz", "repair.json"),
        inputs=("broken.npz",),
    ),
    Command(
        "convert-streamed",
        ("convert", "long.hdf5", "out.npz", "--force", *STREAMED),
        ("out.npz",),
        inputs=("long.hdf5",),
        sizes=SIZES_OF_LONG,
    ),
    Command(
        "curate-streamed",
        (
            "curate",
            "long.hdf5",
            "--keep",
            "0.5",
            "--by",
            "return",
            "-o",
            "better.hdf5",
            "--force",
            "--json",
            "curation.json",
            *STREAMED,
        ),
        ("better.hdf5", "curation.json"),
        inputs=("long.hdf5",),
        sizes=SIZES_OF_LONG,
    ),
    Command(
        "repair-streamed",
        (
            "repair",
            "long-broken.npz",
            "-o",
            "mended/steps-v0",
            "--force",
            "--json",
            "repair.json",
            *STREAMED,
        ),
        ("mended/steps-v0/data/*", "repair.json"),
        inputs=("long-broken.npz",),
        sizes=SIZES_OF_LONG,
    ),
    Command(
        "score",
        (
            "score",
            "data.npz",
            "--scores",
            "return,reward",
            "--json",
            "card.json",
            "--html",
            "page.html",
        ),
        ("card.json", "page.html"),
    ),
    Command(
        "score-learned",
        (
            "score",
            "data.npz",
            "--scores",
            "q,bwd.exact",
            "--preset",
            "fast",
            "--set",
            "critic.steps=20",
            "--json",
            "card.json",
        ),
        ("card.json",),
    ),
    Command(
        "score-many",
        (
            "score",
            *MANY,
            "--scores",
            "return,reward",
            "--out",
            "cards",
            "--workers",
            "2",
            "--json",
            "told.json",
        ),
        ("cards/*", "told.json"),
        ("cards/*.json", "store/runs/*/*/result.json"),
        (*STORED[:2], "store/runs/*/*/card.json"),
        workers=True,
        inputs=MANY,
    ),
    Command(
        "train",
        ("train", "bc", "data.npz", "--env", "Pendulum-v1", "-o", "run", *settings(TRAINING)),
        ("run/run.json", "run/log.csv", "run/policy.safetensors"),
        damaged=("run/state.npz",),
    ),
    Command(
        "oracle",
        (
            "oracle",
            "data.npz",
            "--env",
            "Pendulum-v1",
            "--agents",
            "bc",
            "--seeds",
            "2",
            "--json",
            "oracle.json",
            *settings(TRAINING),
        ),
        ("oracle.json",),
        ("store/runs/*/*/result.json",),
        STORED,
        workers=True,
    ),
    Command(
        "collect",
        ("collect", "Pendulum-v1", "-o", "data", "--seeds", "1", *settings(COLLECTING)),
        ("data/*.hdf5", "data/collection.json", "store/collect/*/*/curve.csv"),
        ("data/*.hdf5",),
        ("store/collect/*/*/state.npz",),
    ),
    Command(
        "study",
        ("study", "fig1", "--run", "--results", "results", "--zoo", str(HERE.parent / "zoo")),
        ("results/fig1/runs.csv", "results/fig1/curves.csv", "results/fig1/table.csv"),
        ("store/runs/*/*/result.json",),
        (*STORED, "store/datasets/*/*.json"),
        workers=True,
        launcher=(str(HERE / "fault_study.py"),),
    ),
)


def write_inputs(folder: Path) -> None:
    """What the commands read. Long data fills several of the blocks in which it is read."""
    write_data(folder / "data.npz")
    write_data(folder / "broken.npz", broken=True)
    for name in ("long.hdf5", "long-broken.npz"):
        write_data(folder / name, rows=100_000, width=24, length=1_000, broken="broken" in name)
    for seed, name in enumerate(MANY):
        write_data(folder / name, seed=seed)


def write_data(
    path: Path,
    rows: int = 600,
    *,
    width: int = 3,
    length: int = 50,
    broken: bool = False,
    seed: int = 0,
) -> None:
    """Random rows in episodes of equal length; a broken one has lost numbers and a repeated episode. Of Pendulum's
    shape, unless another width is given.
    """
    from rlassay.formats import load, save

    rng = np.random.default_rng(seed)
    columns = {
        "observations": rng.normal(size=(rows, width)).astype(np.float32),
        "actions": rng.uniform(-2, 2, (rows, 1 if width == 3 else 2)).astype(np.float32),
        "rewards": rng.normal(size=rows).astype(np.float32),
        "terminals": np.zeros(rows, bool),
        "timeouts": np.arange(rows) % length == length - 1,
    }
    if broken:
        for name in ("observations", "actions", "rewards"):
            columns[name][2 * length : 3 * length] = columns[name][:length]
        columns["observations"][[20, 333]] = np.nan
    save(load(columns, env_id="Pendulum-v1" if width == 3 else None), path)


def fingerprint(command: Command, work: Path) -> dict[str, str]:
    """Every output by its relative path; times and versions left out, bytes elsewhere."""
    found = {}
    for pattern in command.outputs:
        for path in sorted(work.glob(pattern)):
            content = _comparable(path, work)
            found[str(path.relative_to(work))] = hashlib.sha256(content).hexdigest()
    return found


def _comparable(path: Path, work: Path) -> bytes:
    if path.suffix == ".json":
        text = path.read_text().replace(str(work), "WORK")
        return json.dumps(_without_times(json.loads(text)), sort_keys=True).encode()
    if path.suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        return json.dumps(_without_times(rows), sort_keys=True).encode()
    if path.suffix == ".html":  # it shows times; whole it must be
        return path.read_bytes()[-20:]
    return path.read_bytes()


def _without_times(value):
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if key not in CHANGING}
    return [_without_times(each) for each in value] if isinstance(value, list) else value
