"""Independent readings for the fuzzing script: h5py, json, pyarrow and numpy alone, one function a layout.

Each gives (observations, actions, rewards) as float64 in the order of the reader, or raises. Nothing of rlassay.
"""

from __future__ import annotations

import csv as stdlib_csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Columns = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _wide(array) -> np.ndarray:
    array = np.asarray(array, np.float64)
    return array[:, None] if array.ndim == 1 else array


def flat_hdf5(path: Path) -> Columns:
    with h5py.File(path) as file:
        rewards = file["rewards"][()].ravel() if "rewards" in file else None
        return _wide(file["observations"][()]), _wide(file["actions"][()]), rewards


def d3rlpy_v2(path: Path) -> Columns:
    with h5py.File(path) as file:
        count = int(np.ravel(file["num_episodes"][()])[0])
        parts = [
            [file[f"{key}_{i}"][()] for i in range(count)]
            for key in ("observations", "actions", "rewards")
        ]
    observations, actions, rewards = (np.concatenate(part) for part in parts)
    return _wide(observations), _wide(actions), rewards.ravel()


def minari_hdf5(path: Path) -> Columns:
    total = json.loads((path / "data" / "metadata.json").read_text())["total_episodes"]
    with h5py.File(path / "data" / "main_data.hdf5") as file:
        groups = [file[f"episode_{i}"] for i in range(total)]
        filled = [group for group in groups if len(group["rewards"])]
        observations = np.concatenate([group["observations"][()][:-1] for group in filled])
        actions = np.concatenate([group["actions"][()] for group in filled])
        return (
            _wide(observations),
            _wide(actions),
            np.concatenate([g["rewards"][()] for g in filled]),
        )


def minari_tables(path: Path) -> Columns:
    """A folder an episode; the last row of each holds the final observation alone."""
    total = json.loads((path / "data" / "metadata.json").read_text())["total_episodes"]
    rows = []
    for folder in (path / "data" / str(index) for index in range(total)):
        read = [row for file in sorted(folder.glob("part-*")) for row in _rows_in(file)]
        rows += [{"rewards": np.nan, **row} for row in read[:-1]]  # unknown, which `inspect` fails
    return _columns(rows, ("observations", "actions", "rewards"))


def _rows_in(file: Path) -> list[dict]:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    with pa.OSFile(str(file)) as source:
        return pa.ipc.open_file(source).read_all().to_pylist()


def arrays(path: Path) -> Columns:
    if path.is_dir():
        found = {file.stem: np.load(file) for file in path.glob("*.npy")}
    else:
        with np.load(path) as archive:
            found = dict(archive)
    rewards = found.get("rewards")
    return (
        _wide(found["observations"]),
        _wide(found["actions"]),
        None if rewards is None else rewards.ravel(),
    )


def ogbench(path: Path) -> Columns:
    with np.load(path) as archive:
        kept = archive["terminals"] == 0
        return _wide(archive["observations"][kept]), _wide(archive["actions"][kept]), None


def robomimic(path: Path) -> Columns:
    with h5py.File(path) as file:
        names = [name for name in file["data"] if re.fullmatch(r"demo_\d{1,9}", name)]
        demos = [file["data"][name] for name in sorted(names, key=lambda name: int(name[5:]))]
        demos = [demo for demo in demos if len(demo["actions"])]
        observations = [
            np.concatenate([_wide(demo["obs"][key][()]) for key in sorted(demo["obs"])], axis=1)
            for demo in demos
        ]
        rewards = (
            np.concatenate([demo["rewards"][()] for demo in demos])
            if "rewards" in demos[0]
            else None
        )
        return (
            np.concatenate(observations),
            _wide(np.concatenate([d["actions"][()] for d in demos])),
            rewards,
        )


def lerobot(path: Path) -> Columns:
    wanted = ("index", "observation.state", "action", "next.reward")  # as the reader: no other page
    files = sorted(path.glob("data/*/*.parquet"))
    known = [name for name in wanted if name in pq.read_schema(files[0]).names]
    tables = [pq.read_table(file, columns=known) for file in files]
    rows = sorted(
        (row for table in tables for row in table.to_pylist()), key=lambda row: row["index"]
    )
    rewards = (
        None if "next.reward" not in rows[0] else np.array([row["next.reward"] for row in rows])
    )
    return (
        _wide([row["observation.state"] for row in rows]),
        _wide([row["action"] for row in rows]),
        rewards,
    )


def imitation(path: Path) -> Columns:
    with np.load(path) as archive:
        borders = archive["indices"]
        ends = np.append(borders, len(archive["acts"])) + np.arange(len(borders) + 1)
        return (
            _wide(np.delete(archive["obs"], ends, axis=0)),
            _wide(archive["acts"]),
            archive["rews"] if "rews" in archive.files else None,
        )


def imitation_hub(path: Path) -> Columns:
    rows = [
        row
        for file in sorted(path.glob("data-*.arrow"))
        for row in pa.ipc.open_stream(str(file) and pa.OSFile(str(file))).read_all().to_pylist()
    ]
    rows = [row for row in rows if row["acts"]]
    return (
        _wide([x for row in rows for x in row["obs"][:-1]]),
        _wide([x for row in rows for x in row["acts"]]),
        np.array([x for row in rows for x in row["rews"]]) if "rews" in rows[0] else None,
    )


def stable_baselines(path: Path) -> Columns:
    with np.load(path) as archive:
        return _wide(archive["obs"]), _wide(archive["actions"]), archive["rewards"].ravel()


def _by_episode(rows: list[dict], episode: str, step: str | None) -> list[dict]:
    """Episodes in the order of their first row; without such a column, rows as they come."""
    if episode not in rows[0]:
        return rows
    order = {name: i for i, name in reversed(list(enumerate(row[episode] for row in rows)))}
    counted = step is not None and step in rows[0]
    return sorted(rows, key=lambda row: (order[row[episode]], row[step] if counted else 0))


def _columns(rows: list[dict], names: tuple[str, str, str]) -> Columns:
    observations, actions = ([row[name] for row in rows] for name in names[:2])
    rewards = np.array([row[names[2]] for row in rows], float) if names[2] in rows[0] else None
    return _wide(observations), _wide(actions), rewards


def rllib_json(path: Path) -> Columns:
    rows = []
    for line in path.read_text().splitlines():
        batch = {k: v for k, v in json.loads(line).items() if isinstance(v, list)}
        rows += [
            dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)
        ]
    return _columns(_by_episode(rows, "eps_id", None), ("obs", "actions", "rewards"))


def rllib_parquet(path: Path) -> Columns:
    rows = [
        row for file in sorted(path.glob("*.parquet")) for row in pq.read_table(file).to_pylist()
    ]
    return _columns(_by_episode(rows, "eps_id", None), ("obs", "actions", "rewards"))


def rlds(path: Path) -> Columns:
    rows = [row for row in pq.read_table(path).to_pylist() if not row.get("is_last")]
    return _columns(rows, ("observation", "action", "reward"))


def parquet(path: Path) -> Columns:
    rows = pq.read_table(path).to_pylist()
    return _columns(_by_episode(rows, "episode", "step"), ("observations", "actions", "rewards"))


def json_lines(path: Path) -> Columns:
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return _columns(_by_episode(rows, "episode", "step"), ("observations", "actions", "rewards"))


def csv(path: Path) -> Columns:
    """Under the map that the script hands to the reader."""
    with open(path, newline="") as file:
        rows = list(stdlib_csv.DictReader(file))
    rows = [{**row, "k": float(row["k"])} for row in rows]
    rows = _by_episode(rows, "id", "k")
    return (
        _wide([[float(row[f"obs_{i}"]) for i in range(3)] for row in rows]),
        _wide([[float(row[f"act_{i}"]) for i in range(2)] for row in rows]),
        np.array([float(row["r"]) for row in rows]),
    )


READERS: dict[str, Callable[[Path], Columns]] = {
    "d4rl": flat_hdf5,
    "d3rlpy-v1": flat_hdf5,
    "d3rlpy-v2": d3rlpy_v2,
    "minari-hdf5": minari_hdf5,
    "minari-arrow": minari_tables,
    "minari-parquet": minari_tables,
    "npz": arrays,
    "npy": arrays,
    "ogbench": ogbench,
    "robomimic": robomimic,
    "lerobot": lerobot,
    "imitation-hub": imitation_hub,
    "imitation": imitation,
    "stable-baselines": stable_baselines,
    "rllib-json": rllib_json,
    "rllib-parquet": rllib_parquet,
    "rlds": rlds,
    "parquet": parquet,
    "json-lines": json_lines,
    "csv": csv,
}


def reader_of(layout: str) -> Callable[[Path], Columns] | None:
    """The reading of the longest name that the layout begins with; None where there is none."""
    names = [name for name in READERS if layout.startswith(name)]
    return READERS[max(names, key=len)] if names else None
