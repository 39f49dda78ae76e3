"""Small datasets written in every layout, by code that shares nothing with the readers.

An episode keeps T + 1 observations; row t of episode i has the observation 100 i + t in every dimension, so that a
shift by one row or one episode is visible in the numbers.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

OBSERVATION_DIM, ACTION_DIM = 3, 2


@dataclass(frozen=True)
class Recorded:
    observations: np.ndarray  # (T + 1, 3)
    actions: np.ndarray  # (T, 2)
    rewards: np.ndarray  # (T,)
    end: str  # terminal, timeout, open

    def __len__(self) -> int:
        return len(self.rewards)

    def flag(self, end: str) -> np.ndarray:
        flags = np.zeros(len(self), bool)
        flags[-1] = self.end == end
        return flags


def record(
    ends: tuple[str, ...], lengths: tuple[int, ...] = (4, 5, 3, 6), dtype="f4"
) -> list[Recorded]:
    episodes = []
    for index, end in enumerate(ends):
        steps = lengths[index % len(lengths)]
        time = 100.0 * index + np.arange(steps + 1)
        observations = time[:, None] + np.array([0.0, 0.25, 0.5])
        actions = (time[:-1, None] + np.array([0.0, 1.0])) / 1000
        episodes.append(
            Recorded(
                observations.astype(dtype), actions.astype(dtype), time[:-1].astype(dtype), end
            )
        )
    return episodes


FLAGGED = ("terminal", "timeout", "terminal", "timeout")
TAIL_OPEN = ("terminal", "timeout", "terminal", "open")


def joined(episodes: list[Recorded]) -> dict[str, np.ndarray]:
    """The flat columns of all episodes, final observations included."""
    return {
        "observations": np.concatenate([e.observations[:-1] for e in episodes]),
        "actions": np.concatenate([e.actions for e in episodes]),
        "rewards": np.concatenate([e.rewards for e in episodes]),
        "next_observations": np.concatenate([e.observations[1:] for e in episodes]),
        "terminals": np.concatenate([e.flag("terminal") for e in episodes]),
        "timeouts": np.concatenate([e.flag("timeout") for e in episodes]),
    }


def starts(episodes: list[Recorded]) -> list[int]:
    return np.cumsum([0, *(len(e) for e in episodes[:-1])]).tolist()


def assert_holds(data, episodes: list[Recorded], *, final_known: bool) -> None:
    """Every transition, flag, border and next action is the recorded one."""
    columns = joined(episodes)
    ends = np.cumsum([len(e) for e in episodes]) - 1
    known = np.ones(len(columns["rewards"]), bool)
    if not final_known:
        known[ends] = False
    for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
        np.testing.assert_array_equal(getattr(data, name), columns[name], err_msg=name)
    np.testing.assert_array_equal(data.next_valid, known)
    np.testing.assert_array_equal(
        data.next_observations[known], columns["next_observations"][known]
    )
    np.testing.assert_array_equal(data.next_observations[~known], columns["observations"][~known])
    assert data.episode_starts.tolist() == starts(episodes)
    inside = np.ones(len(known), bool)
    inside[ends] = False
    np.testing.assert_array_equal(data.next_action_valid, inside)
    rows = np.flatnonzero(inside)
    np.testing.assert_array_equal(data.next_actions[rows], columns["actions"][rows + 1])
    np.testing.assert_array_equal(data.sarsa_rows, np.flatnonzero(inside | columns["terminals"]))


# -- one writer a layout: (episodes, folder) -> path ----------------------------------------------------------------


def d4rl(
    episodes: list[Recorded], folder: Path, *, next_observations: bool = True, **store
) -> Path:
    path = folder / "hopper_medium-v2.hdf5"
    columns = joined(episodes)
    if not next_observations:
        del columns["next_observations"]
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file.create_dataset(name, data=column, **(store or {"compression": "gzip"}))
        rows = len(columns["rewards"])
        file.create_dataset("infos/qpos", data=np.arange(2.0 * rows).reshape(rows, 2))
        file.create_dataset("infos/action_log_probs", data=np.zeros(rows))
        file.create_dataset("metadata/algorithm", data="SAC")
        file.create_dataset("metadata/iteration", data=7)
        file.create_dataset("metadata/policy/fc0/weight", data=np.ones((4, 3)))
        file.create_dataset("metadata/policy/nonlinearity", data="relu")
    return path


def minari(episodes: list[Recorded], folder: Path, data_format: str = "hdf5") -> Path:
    """By the real library, without an environment."""
    from gymnasium.spaces import Box
    from minari import create_dataset_from_buffers
    from minari.data_collector import EpisodeBuffer

    buffers = [
        EpisodeBuffer(
            observations=e.observations,  # type: ignore[arg-type]
            actions=e.actions,  # type: ignore[arg-type]
            rewards=list(e.rewards),
            terminations=list(e.flag("terminal")),
            truncations=list(e.flag("timeout")),
        )
        for e in episodes
    ]
    name = f"probe/steps-{data_format}-v0"
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(folder)
    kind = episodes[0].actions.dtype.type
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            create_dataset_from_buffers(
                name,
                buffers,
                observation_space=Box(-np.inf, np.inf, (OBSERVATION_DIM,), kind),
                action_space=Box(-1, 1, (ACTION_DIM,), kind),
                algorithm_name="counting",
                data_format=data_format,
            )
    finally:
        os.environ.pop("MINARI_DATASETS_PATH")
        if before is not None:
            os.environ["MINARI_DATASETS_PATH"] = before
    return folder / name


def npz(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "data.npz"
    np.savez_compressed(path, **joined(episodes))
    return path


def npy(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "columns"
    path.mkdir()
    for name, column in joined(episodes).items():
        np.save(path / f"{name}.npy", column)
    return path


def ogbench(episodes: list[Recorded], folder: Path) -> Path:
    """Every state is a row; the last of a trajectory carries a dummy action and the flag."""
    path = folder / "pointmaze-medium-navigate-v0.npz"
    observations = np.concatenate([e.observations for e in episodes])
    dummy = np.zeros((1, ACTION_DIM), episodes[0].actions.dtype)
    last = np.concatenate([np.append(np.zeros(len(e)), 1) for e in episodes]).astype("f4")
    np.savez_compressed(
        path,
        observations=observations,
        actions=np.concatenate([np.concatenate([e.actions, dummy]) for e in episodes]),
        terminals=last,
        qpos=observations[:, :2],
        qvel=observations[:, :2] * 0,
    )
    return path


def d3rlpy_v2(episodes: list[Recorded], folder: Path, version: str = "2.1") -> Path:
    path = folder / "buffer.h5"
    with h5py.File(path, "w") as file:
        columns = ["observations", "actions", "rewards", "terminated"]
        file.create_dataset("columns", data=[name.encode() for name in columns])
        file.create_dataset("num_episodes", data=len(episodes))
        file.create_dataset("version", data=version)
        for index, e in enumerate(episodes):
            file.create_dataset(f"observations_{index}", data=e.observations[:-1])
            file.create_dataset(f"actions_{index}", data=e.actions)
            file.create_dataset(f"rewards_{index}", data=e.rewards[:, None])
            file.create_dataset(f"terminated_{index}", data=e.end == "terminal")
    return path


def d3rlpy_v1(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "mdp.h5"
    columns = joined(episodes)
    ends = columns["terminals"] | columns["timeouts"]
    with h5py.File(path, "w") as file:
        for name in ("observations", "actions", "rewards"):
            file.create_dataset(name, data=columns[name])
        file.create_dataset("terminals", data=columns["terminals"].astype("f4"))
        file.create_dataset("episode_terminals", data=ends.astype("f4"))
        file.create_dataset("discrete_action", data=False)
        file.create_dataset("version", data="1.0")
    return path


def robomimic(episodes: list[Recorded], folder: Path, *, dones: bool = True) -> Path:
    """Two vectors a step, `a` and `b`; the demos are numbered past 9 so that text order is wrong."""
    path = folder / "low_dim.hdf5"
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(len(e) for e in episodes)
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_type": 1, "env_kwargs": {}})
        for index, e in enumerate(episodes):
            demo = data.create_group(f"demo_{8 + index}")
            demo.attrs["num_samples"] = len(e)
            demo.create_dataset("actions", data=e.actions)
            demo.create_dataset("rewards", data=e.rewards)
            if dones:
                demo.create_dataset("dones", data=e.flag("terminal").astype("i8"))
            demo.create_dataset("states", data=e.observations[:-1])
            for name, part in (("obs", e.observations[:-1]), ("next_obs", e.observations[1:])):
                demo.create_dataset(f"{name}/b", data=part[:, 1:])
                demo.create_dataset(f"{name}/a", data=part[:, 0])
        mask = file.create_group("mask")
        mask.create_dataset("best", data=np.array([b"demo_10", b"demo_9"]))
    return path


def lerobot(
    episodes: list[Recorded], folder: Path, version: str = "v3.0", *, outcomes: bool = True
) -> Path:
    path = folder / f"lerobot-{version}"
    tables = [_frames(episodes, index, outcomes) for index in range(len(episodes))]
    (path / "meta").mkdir(parents=True)
    (path / "data" / "chunk-000").mkdir(parents=True)
    if version == "v3.0":
        half = len(tables) // 2
        for number, part in enumerate((tables[:half], tables[half:])):
            pq.write_table(
                pa.concat_tables(part), path / "data" / "chunk-000" / f"file-{number:03d}.parquet"
            )
    else:
        for index, table in enumerate(tables):
            pq.write_table(table, path / "data" / "chunk-000" / f"episode_{index:06d}.parquet")
    features = {
        "observation.state": {"dtype": "float32", "shape": [OBSERVATION_DIM], "names": None},
        "observation.images.top": {"dtype": "video", "shape": [4, 4, 3], "names": None},
        "action": {"dtype": "float32", "shape": [ACTION_DIM], "names": None},
    }
    info = {
        "codebase_version": version,
        "robot_type": "probe",
        "fps": 10,
        "total_episodes": len(episodes),
        "total_frames": sum(len(e) for e in episodes),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "features": features,
    }
    (path / "meta" / "info.json").write_text(json.dumps(info))
    return path


def _frames(episodes: list[Recorded], index: int, outcomes: bool) -> pa.Table:
    e = episodes[index]
    first = starts(episodes)[index]
    columns = {
        "observation.state": pa.array(e.observations[:-1].tolist(), pa.list_(pa.float32())),
        "action": pa.array(e.actions.tolist(), pa.list_(pa.float32())),
        "timestamp": np.arange(len(e), dtype="f4") / 10,
        "frame_index": np.arange(len(e)),
        "episode_index": np.full(len(e), index),
        "index": first + np.arange(len(e)),
        "task_index": np.zeros(len(e), "i8"),
    }
    if outcomes:
        columns["next.reward"] = e.rewards
        columns["next.done"] = e.flag("terminal") | e.flag("timeout")
        columns["next.truncated"] = e.flag("timeout")
    return pa.table(columns)


Writer = Callable[[list[Recorded], Path], Path]
# name: (writer, ends it can state, whether the observation behind the last action is stored)
LAYOUTS: dict[str, tuple[Writer, tuple[str, ...], bool]] = {
    "d4rl": (d4rl, TAIL_OPEN, True),
    "d4rl-flat": (lambda e, f: d4rl(e, f, next_observations=False), TAIL_OPEN, False),
    "d4rl-plain": (lambda e, f: d4rl(e, f, chunks=None), TAIL_OPEN, True),
    "minari-hdf5": (
        lambda e, f: minari(e, f, "hdf5"),
        ("open", "terminal", "timeout", "open"),
        True,
    ),
    "minari-arrow": (
        lambda e, f: minari(e, f, "arrow"),
        ("open", "terminal", "timeout", "open"),
        True,
    ),
    "minari-parquet": (
        lambda e, f: minari(e, f, "parquet"),
        ("open", "terminal", "timeout", "open"),
        True,
    ),
    "npz": (npz, TAIL_OPEN, True),
    "npy": (npy, TAIL_OPEN, True),
    "ogbench": (ogbench, ("timeout",) * 4, True),
    "d3rlpy-v2": (d3rlpy_v2, FLAGGED, False),
    "d3rlpy-v1": (d3rlpy_v1, TAIL_OPEN, False),
    "robomimic": (robomimic, ("open", "terminal", "open", "terminal"), True),
    "lerobot-v2.0": (
        lambda e, f: lerobot(e, f, "v2.0"),
        ("open", "terminal", "timeout", "open"),
        False,
    ),
    "lerobot-v2.1": (
        lambda e, f: lerobot(e, f, "v2.1"),
        ("open", "terminal", "timeout", "open"),
        False,
    ),
    "lerobot-v3.0": (
        lambda e, f: lerobot(e, f, "v3.0"),
        ("open", "terminal", "timeout", "open"),
        False,
    ),
}
