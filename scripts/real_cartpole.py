"""CartPole datasets of five projects with the ends that the cart's equations give, for `rlassay compare OUT/*.npz`.

    python scripts/real_data.py --extract MIRRORS --root DIR     # take the files out of git mirrors
    python scripts/real_cartpole.py --root DIR --out OUT

Files say little or wrong things about how their episodes ended. Every transition is recomputed from its observation and action:
a set that does not follow CartPole's equations is refused, a jump inside an episode is an end that nobody marked, an end whose
next state lies beyond the limits is a terminal, and any other end is a timeout. None of the files is part of this repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from real_sets import Prepared, run_from_command_line, write_sets

import rlassay
from rlassay.data.dataset import Dataset, Origin

RAY = "ray-project/ray", "rllib/offline/tests/data/cartpole"
MOST_JUMPS = 0.01  # of the rows
ROUNDING = 1e-5  # of a recomputed state; observations are stored in single precision
FALLEN = (2.4, 12 * 2 * np.pi / 360)  # position and angle beyond which an episode is over
SETS = {
    "agilerl-random": ("AgileRL/AgileRL", "data/cartpole/cartpole_random_v1.1.0.h5"),
    "agilerl-replay": ("AgileRL/AgileRL", "data/cartpole/cartpole_v1.1.0.h5"),
    "imitation-expert": (
        "HumanCompatibleAI/imitation",
        "tests/testdata/expert_models/cartpole_0/rollouts/final.npz",
    ),
    "ray-large": (RAY[0], f"{RAY[1]}/large.json"),
    "ray-small": (RAY[0], f"{RAY[1]}/small.json"),
    "reagent": (
        "facebookresearch/ReAgent",
        "reagent/test/workflow/test_data/parametric_action/cartpole_training.json.bz2",
    ),
    "stable-baselines": (
        "hill-a/stable-baselines",
        "stable_baselines/gail/dataset/expert_cartpole.npz",
    ),
}


def prepare(root: Path, out: Path) -> list[dict]:
    """Write every set as OUT/NAME.npz; returns what was found in each."""
    return write_sets(root, out, SETS, prepared)


def prepared(name: str, path: Path) -> Prepared:
    raw = rlassay.load(path)
    data, error = with_own_ends(raw, name)
    return data, describe(raw, data, error)


def next_states(states: np.ndarray, pushes: np.ndarray) -> np.ndarray:
    """CartPole-v1's own step (Barto, Sutton and Anderson; Euler, 0.02 s); a push is 0 to the left, 1 to the right."""
    _, speed, angle, turning = np.asarray(states, float).T
    force = np.where(pushes == 1, 10.0, -10.0)
    sine, cosine = np.sin(angle), np.cos(angle)
    common = (force + 0.05 * turning**2 * sine) / 1.1
    twist = (9.8 * sine - cosine * common) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    push = common - 0.05 * twist * cosine / 1.1
    change = np.stack([speed, push, turning, twist], 1)
    return np.asarray(states, float) + 0.02 * change


def fallen(states: np.ndarray) -> np.ndarray:
    return (np.abs(states[:, 0]) > FALLEN[0]) | (np.abs(states[:, 2]) > FALLEN[1])


def with_own_ends(raw: Dataset, name: str) -> tuple[Dataset, float]:
    """The set with its successors computed, terminals where the pole fell, and the largest error that is no end."""
    pushes = action_numbers(raw)
    following = next_states(raw.observations, pushes)
    errors = np.abs(following[:-1] - raw.observations[1:]).max(1)
    ends = np.zeros(len(raw), bool)
    ends[raw.episode_stops - 1] = True
    jumps = ~ends[:-1] & (errors > ROUNDING)
    if jumps.mean() > MOST_JUMPS or fallen(np.asarray(raw.observations, float)).any():
        sys.exit(f"{name} does not follow CartPole's equations: {jumps.sum()} jumps")
    ends[:-1] |= jumps
    terminals = fallen(following)
    data = Dataset.from_columns(
        observations=np.asarray(raw.observations, np.float32),
        actions=pushes,
        rewards=np.asarray(raw.rewards, np.float32),
        terminals=terminals & ends,
        timeouts=ends & ~terminals,
        next_observations=following.astype(np.float32),
        origin=Origin(source=name, env_id="CartPole-v1"),
    )
    return data, float(errors[~ends[:-1]].max())


def action_numbers(raw: Dataset) -> np.ndarray:
    """ReAgent stores an action as one number for each choice, 1 for the one that was taken."""
    actions = np.asarray(raw.actions)
    return actions.argmax(1) if actions.ndim == 2 and actions.shape[1] == 2 else actions.ravel()


def describe(raw: Dataset, data: Dataset, error: float) -> dict:
    return {
        "rows": len(data),
        "episodes": data.episode_count,
        "mean_return": round(float(data.episode_returns.mean()), 2),
        "longest": int(data.episode_lengths.max()),
        "stated_terminals": int(np.sum(raw.terminals)),
        "stated_timeouts": int(np.sum(raw.timeouts)),
        "unmarked": data.episode_count - raw.episode_count,
        "fallen": int(data.terminals.sum()),
        "stopped": int(data.timeouts.sum()),
        "largest_error": error,
    }


if __name__ == "__main__":
    run_from_command_line(str(__doc__), prepare)
