"""How long `rlassay.demonstrations` takes on 36,000 frames of 26 columns in 60 episodes.

python benchmarks/motion_speed.py
"""

from __future__ import annotations

import time

import numpy as np

import rlassay
from rlassay.data.dataset import Dataset

EPISODES, LENGTH, COLUMNS = 60, 600, 26


def made() -> Dataset:
    """Waves that a position controller follows one step later."""
    rng = np.random.default_rng(0)
    moment = np.linspace(0, 1, LENGTH)[:, None] * np.linspace(0.5, 2, COLUMNS)
    phases = 0.2 * rng.normal(size=(EPISODES, 1, COLUMNS))
    states = np.sin(2 * np.pi * (moment + phases)).reshape(-1, COLUMNS)
    states = states + 0.005 * rng.normal(size=states.shape)
    actions = np.roll(states, -1, axis=0) + 0.01 * rng.normal(size=states.shape)
    return Dataset.from_columns(
        observations=states.astype(np.float32),
        actions=actions.astype(np.float32),
        rewards=None,
        terminals=np.zeros(len(states), bool),
        episode_starts=np.arange(EPISODES) * LENGTH,
    )


if __name__ == "__main__":
    data = made()
    wall, processor = time.perf_counter(), time.process_time()
    report = rlassay.demonstrations(data)
    print(report)
    print(
        f"wall {time.perf_counter() - wall:.1f} s, processor {time.process_time() - processor:.1f} s"
    )
