"""Layouts of other projects, and tables, written by code that shares nothing with the readers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from io_layouts import FLAGGED, OBSERVATION_DIM, TAIL_OPEN, Recorded, Writer, joined, starts


def imitation(episodes: list[Recorded], folder: Path) -> Path:
    """As `imitation` saves rollouts; the infos are objects, which need pickle."""
    path = folder / "final.npz"
    lengths = [len(e) for e in episodes]
    np.savez_compressed(
        path,
        obs=np.concatenate([e.observations for e in episodes]),
        acts=np.concatenate([e.actions for e in episodes]),
        rews=np.concatenate([e.rewards for e in episodes]),
        terminal=np.array([e.end == "terminal" for e in episodes]),
        indices=np.cumsum(lengths[:-1]),
        infos=np.array([{"a": 1}] * sum(lengths), dtype=object),
    )
    return path


def imitation_table(episodes: list[Recorded]) -> pa.Table:
    vectors = pa.list_(pa.list_(pa.float32()))
    return pa.table(
        {
            "obs": pa.array([e.observations.tolist() for e in episodes], vectors),
            "acts": pa.array([e.actions.tolist() for e in episodes], vectors),
            "infos": pa.array([["{}"] * len(e) for e in episodes]),
            "terminal": [e.end == "terminal" for e in episodes],
            "rews": pa.array([e.rewards.tolist() for e in episodes], pa.list_(pa.float32())),
        }
    )


def imitation_hub(episodes: list[Recorded], folder: Path) -> Path:
    """As `datasets.save_to_disk` writes: Arrow streams, a state and a description."""
    path = folder / "trajectories"
    path.mkdir()
    table = imitation_table(episodes)
    for number, part in enumerate((table.slice(0, 2), table.slice(2))):
        with pa.OSFile(str(path / f"data-{number:05d}-of-00002.arrow"), "wb") as sink:
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_table(part)
    (path / "dataset_info.json").write_text(json.dumps({"features": {}}))
    (path / "state.json").write_text(json.dumps({"_data_files": []}))
    return path


def stable_baselines(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "expert.npz"
    columns = joined(episodes)
    first = np.zeros(len(columns["rewards"]), bool)
    first[starts(episodes)] = True
    np.savez(
        path,
        obs=columns["observations"],
        actions=columns["actions"],
        rewards=columns["rewards"],
        episode_returns=np.array([e.rewards.sum() for e in episodes]),
        episode_starts=first,
    )
    return path


def _rllib_columns(episodes: list[Recorded]) -> dict[str, list]:
    columns = joined(episodes)
    ids = np.repeat([41, 17, 900, 3][: len(episodes)], [len(e) for e in episodes])
    return {
        "obs": columns["observations"].tolist(),
        "new_obs": columns["next_observations"].tolist(),
        "actions": columns["actions"].tolist(),
        "rewards": columns["rewards"].tolist(),
        "terminateds": columns["terminals"].tolist(),
        "truncateds": columns["timeouts"].tolist(),
        "eps_id": ids.tolist(),
        "infos": [{}] * len(ids),
    }


def rllib_json(episodes: list[Recorded], folder: Path) -> Path:
    """Two batches of columns; their border lies inside an episode."""
    path = folder / "output.json"
    columns = _rllib_columns(episodes)
    cut = len(episodes[0]) + 2
    lines = []
    for part in (slice(0, cut), slice(cut, None)):
        batch = {"type": "SampleBatch", **{k: v[part] for k, v in columns.items()}}
        lines.append(json.dumps(batch))
    path.write_text("\n".join(lines) + "\n")
    return path


def rllib_parquet(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "rllib"
    path.mkdir()
    columns = {k: v for k, v in _rllib_columns(episodes).items() if k != "infos"}
    table = pa.table(columns)
    for number, part in enumerate((table.slice(0, 7), table.slice(7))):
        pq.write_table(part, path / f"1_{number:06d}_000000.parquet")
    return path


def rlds(episodes: list[Recorded], folder: Path) -> Path:
    """The last step is a state: its action and reward mean nothing."""
    path = folder / "steps.parquet"
    last = [np.append(np.zeros(len(e), bool), True) for e in episodes]
    first = [np.append(True, np.zeros(len(e), bool)) for e in episodes]
    over = [flags & (e.end == "terminal") for flags, e in zip(last, episodes, strict=True)]
    table = pa.table(
        {
            "observation": [row.tolist() for e in episodes for row in e.observations],
            "action": [row.tolist() for e in episodes for row in [*e.actions, e.actions[0] * 0]],
            "reward": np.concatenate([np.append(e.rewards, 0) for e in episodes]),
            "is_first": np.concatenate(first),
            "is_last": np.concatenate(last),
            "is_terminal": np.concatenate(over),
        }
    )
    pq.write_table(table, path)
    return path


def _table_rows(episodes: list[Recorded]) -> list[dict]:
    """One row a step, shuffled: episode and step say where it belongs."""
    rows = []
    for index, e in enumerate(episodes):
        for step in range(len(e)):
            rows.append(
                {
                    "episode": f"run-{index}",
                    "step": step,
                    "observations": e.observations[step].tolist(),
                    "actions": e.actions[step].tolist(),
                    "rewards": float(e.rewards[step]),
                    "terminals": bool(e.flag("terminal")[step]),
                    "timeouts": bool(e.flag("timeout")[step]),
                }
            )
    first = [row for row in rows if row["step"] == 0]
    return first + [row for row in reversed(rows) if row["step"]]


def json_lines(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "steps.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in _table_rows(episodes)))
    return path


def parquet(episodes: list[Recorded], folder: Path) -> Path:
    path = folder / "steps.parquet"
    pq.write_table(pa.Table.from_pylist(_table_rows(episodes)), path)
    return path


def csv(episodes: list[Recorded], folder: Path) -> Path:
    """Numbered columns: no known names, so that a map is needed."""
    path = folder / "steps.csv"
    names = ["id", "k", *(f"obs_{i}" for i in range(12)), "act_0", "act_1", "r", "end", "cut"]
    lines = [",".join(names)]
    for row in _table_rows(episodes):
        padded = row["observations"] + [float(i) for i in range(9)]
        values = [row["episode"], row["step"], *padded, *row["actions"], row["rewards"]]
        values += [int(row["terminals"]), int(row["timeouts"])]
        lines.append(",".join(repr(v) if isinstance(v, float) else str(v) for v in values))
    path.write_text("\n".join(lines) + "\n")
    return path


def unity(episodes: list[Recorded], folder: Path) -> Path:
    """Protocol buffers by hand: the description, the brain, then a record a state."""
    path = folder / "expert.demo"
    count = sum(len(e) + 1 for e in episodes)
    meta = (
        b"\x08\x01"
        + _field(2, b"probe")
        + b"\x18"
        + _varint(count)
        + b"\x20"
        + _varint(len(episodes))
    )
    content = _varint(len(meta)) + meta
    content += b"\0" * (33 - len(content))
    content += _delimited(b"\x30\x01" + _field(7, b"Brain"))
    for e in episodes:
        for step in range(len(e) + 1):
            content += _delimited(_unity_record(e, step))
    path.write_bytes(content)
    return path


def _unity_record(e: Recorded, step: int) -> bytes:
    """The reward of the action before; the state behind the last action is `done`."""
    floats = _field(1, e.observations[step].astype("<f4").tobytes())
    observation = _field(1, _varint(OBSERVATION_DIM)) + _field(4, floats)
    reward = e.rewards[step - 1] if step else 0.0
    info = b"\x3d" + np.float32(reward).tobytes()
    if step == len(e):
        info += b"\x40\x01" + (b"\x48\x01" if e.end == "timeout" else b"")
    action = e.actions[min(step, len(e) - 1)].astype("<f4").tobytes()
    return _field(1, info + _field(13, observation)) + _field(2, _field(6, action))


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _delimited(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _delimited(content)


# name: (writer, ends it can state, whether the observation behind the last action is stored)
MORE_LAYOUTS: dict[str, tuple[Writer, tuple[str, ...], bool]] = {
    "imitation": (imitation, FLAGGED, True),
    "imitation-hub": (imitation_hub, FLAGGED, True),
    "stable-baselines": (stable_baselines, ("open",) * 4, False),
    "rllib-parquet": (rllib_parquet, TAIL_OPEN, True),
    "rlds": (rlds, FLAGGED, True),
    "parquet": (parquet, TAIL_OPEN, False),
}
# text has no length of its own: a cut one may still be whole lines
TEXT_LAYOUTS: dict[str, tuple[Writer, tuple[str, ...], bool]] = {
    "rllib-json": (rllib_json, TAIL_OPEN, True),
    "json-lines": (json_lines, TAIL_OPEN, False),
    "unity": (unity, FLAGGED, True),
}
