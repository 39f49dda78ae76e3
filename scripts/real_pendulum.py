"""Eight Pendulum datasets of five projects, in the units of Pendulum-v1, for `rlassay study real --data OUT --run`.

    python scripts/real_data.py --extract MIRRORS --root DIR     # take the files out of git mirrors
    python scripts/real_pendulum.py --root DIR --out OUT         # needs `lz4`: two files are packed with LZ4 and pickle

The pendulum's equations say in which unit actions were recorded: they are recomputed from every transition and compared.
None of the files is part of this repository.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from real_sets import Prepared, run_from_command_line, write_sets

import rlassay
from rlassay.data.dataset import Dataset, Origin

BOUND = 2.0  # Pendulum-v1's largest torque
RAY = "ray-project/ray", "rllib/offline/tests/data/pendulum"
ROUNDING = 1e-3  # of a recomputed torque; observations are stored in single precision


@dataclass(frozen=True)
class Source:
    """Where a set lies, and what its actions are multiplied with before they are clipped to the bounds."""

    repository: str
    path: str
    factor: float = 1.0


SETS = {
    "agilerl-random": Source("AgileRL/AgileRL", "data/pendulum/pendulum_random_v1.1.0.h5"),
    "agilerl-replay": Source("AgileRL/AgileRL", "data/pendulum/pendulum_v1.1.0.h5"),
    "imitation-expert": Source(
        "HumanCompatibleAI/imitation", "tests/testdata/expert_models/pendulum_0/rollouts/final.npz"
    ),
    "ray-enormous": Source(RAY[0], f"{RAY[1]}/pendulum-v1_enormous", 2.0),
    "ray-sac-expert": Source(RAY[0], f"{RAY[1]}/pendulum_expert_sac_50eps.zip", 2.0),
    "ray-sac-medium": Source(RAY[0], f"{RAY[1]}/pendulum_medium_sac_50eps.zip", 2.0),
    "reagent": Source(
        "facebookresearch/ReAgent",
        "reagent/test/workflow/test_data/continuous_action/pendulum_training.json.bz2",
    ),
    "stable-baselines": Source(
        "hill-a/stable-baselines", "stable_baselines/gail/dataset/expert_pendulum.npz"
    ),
}


def prepare(root: Path, out: Path) -> list[dict]:
    """Write every set as OUT/NAME.npz; returns what was done to each."""
    places = {name: (source.repository, source.path) for name, source in SETS.items()}
    return write_sets(root, out, places, prepared)


def prepared(name: str, path: Path) -> Prepared:
    raw, factor = load(path), SETS[name].factor
    data = in_units(raw, factor, name)
    return data, describe(name, raw, data, factor)


def load(path: Path) -> Dataset:
    """Any layout that rlassay reads, and a zip of RLlib's packed JSON after its printed recipe."""
    if path.suffix != ".zip":
        return rlassay.load(path)
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        lines = archive.read(archive.namelist()[0]).decode().splitlines()
        plain = Path(folder) / "plain.json"
        plain.write_text("\n".join(json.dumps(unpacked(json.loads(line))) for line in lines) + "\n")
        return rlassay.load(plain)


def unpacked(record: dict) -> dict:
    """RLlib's recipe: columns that are text begin with LZ4's mark and hold a pickled array."""
    import lz4.frame

    return {
        name: pickle.loads(lz4.frame.decompress(base64.b64decode(value))).tolist()
        if isinstance(value, str) and value.startswith("BCJN")
        else value
        for name, value in record.items()
    }


def in_units(raw: Dataset, factor: float, name: str) -> Dataset:
    """Actions as torques in [-2, 2]; an end is a timeout, because the pendulum never terminates."""
    ends = np.zeros(len(raw), bool)
    ends[raw.episode_stops - 1] = True
    bound = np.array([BOUND], np.float32)
    actions = np.clip(factor * np.asarray(raw.actions, np.float64), -BOUND, BOUND)
    return Dataset.from_columns(
        observations=np.asarray(raw.observations, np.float32),
        actions=actions.astype(np.float32),
        rewards=np.asarray(raw.rewards, np.float32),
        terminals=np.zeros(len(raw), bool),
        timeouts=ends,
        next_observations=np.asarray(raw.next_observations, np.float32),
        next_valid=raw.next_valid,
        origin=Origin(source=name, env_id="Pendulum-v1", action_low=-bound, action_high=bound),
    )


def torque_error(data: Dataset) -> float:
    """Median difference of the recorded action and the torque that the equations ask for, where speed is not at its limit."""
    seen, following = (np.asarray(x, float) for x in (data.observations, data.next_observations))
    angle = np.arctan2(seen[:, 1], seen[:, 0])
    torque = ((following[:, 2] - seen[:, 2]) / 0.05 - 15 * np.sin(angle)) / 3
    free = (np.abs(following[:, 2]) < 7.99) & data.next_valid
    return float(np.median(np.abs(torque - data.actions[:, 0])[free]))


def describe(name: str, raw: Dataset, data: Dataset, factor: float) -> dict:
    error = torque_error(data)
    if error > ROUNDING:
        sys.exit(f"{name}: the actions are not torques, median error {error:.3g}")
    return {
        "rows": len(data),
        "episodes": data.episode_count,
        "mean_return": round(float(data.episode_returns.mean()), 2),
        "recorded_low": float(np.min(raw.actions)),
        "recorded_high": float(np.max(raw.actions)),
        "factor": factor,
        "clipped_rows": int((np.abs(factor * np.asarray(raw.actions)) > BOUND).sum()),
        "terminals_made_timeouts": int(np.sum(raw.terminals)),
        "median_torque_error": error,
    }


if __name__ == "__main__":
    run_from_command_line(str(__doc__), prepare)
