"""How long `rlassay.demonstrations` and the whole card take on 36,000 frames of 26 columns in 60 episodes.

OMP_NUM_THREADS=1 python benchmarks/motion_speed.py [--scores]    # with it also every score alone, into results/demonstrations/seconds.csv

One thread, because waiting threads of the linear algebra count as processor time on a busy machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rlassay
from rlassay.data.dataset import Dataset
from rlassay.study.demonstrations.detection import goodness_of, score_names
from rlassay.study.grid.files import write_table

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


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall and of processor."""
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - processor


def each_score(data: Dataset) -> list[dict[str, object]]:
    """Processor seconds of every score that the defect benchmark judges, each alone."""
    rows = []
    for name in score_names():
        goodness_of(data.select(range(8)), [name])  # compiles
        _, seconds = timed(lambda name=name: goodness_of(data, [name]))
        rows.append({"score_name": name, "seconds": seconds})
    return rows


if __name__ == "__main__":
    data = made()
    reported, scored = (
        timed(lambda: rlassay.demonstrations(data)),
        timed(lambda: rlassay.score(data)),
    )
    for what, (wall, processor) in {"demonstrations": reported, "score": scored}.items():
        print(f"{what}: wall {wall:.1f} s, processor {processor:.1f} s")
    if sys.argv[1:] == ["--scores"]:
        about = {
            "command": "OMP_NUM_THREADS=1 python benchmarks/motion_speed.py --scores",
            "complete": True,
        }
        write_table(
            Path("results/demonstrations/seconds.csv"),
            each_score(data),
            ("score_name", "seconds"),
            about,
        )
