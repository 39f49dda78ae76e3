"""Mislabelled tasks: a made file of two tasks in which some episodes carry the label of the other one. Detection only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.motion.trajectories import Motion
from rlassay.study.grid.files import Row, write_table

APART = {"far": 2.0, "middle": 1.0, "near": 0.5}  # the goals, in deviations of a task's own goals
EPISODES, DIMENSIONS, LENGTHS = 60, 4, (40, 80)
MISLABELLED = 0.2
SEEDS = 5
COLUMNS = ("apart", "score_name", "value", "stratified", "seeds")
STREAM = 77


def two_tasks(apart: float, seed: int = 0) -> tuple[Motion, np.ndarray]:
    """Reaches from one start to a goal of either task, and which episodes are mislabelled."""
    rng = np.random.default_rng([seed, STREAM])
    task = np.arange(EPISODES) % 2
    goals = rng.normal(size=(EPISODES, DIMENSIONS)) + apart * np.where(task, 0.5, -0.5)[:, None]
    lengths = rng.integers(*LENGTHS, EPISODES)
    ways = [_reach(goal, length, rng) for goal, length in zip(goals, lengths, strict=True)]
    mislabelled = np.zeros(EPISODES, bool)
    mislabelled[rng.permutation(EPISODES)[: round(MISLABELLED * EPISODES)]] = True
    motion = Motion(
        np.concatenate([way[:-1] for way in ways]),
        np.concatenate([way[1:] for way in ways]),
        np.concatenate([[0], np.cumsum(lengths)[:-1]]),
        tasks=np.where(mislabelled, 1 - task, task),
    )
    return motion, mislabelled


def _reach(goal: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """A path of least jerk with a little sensor noise, one row longer than the episode."""
    part = np.linspace(0, 1, length + 1)
    way = (part**3 * (10 - 15 * part + 6 * part**2))[:, None] * goal
    return way + 0.02 * rng.normal(size=way.shape)


def task_rows(names: Sequence[str]) -> list[Row]:
    """Mean detection over seeds of every score that has any, the labels' own first."""
    from rlassay.motion.detection import detection, stratified_detection
    from rlassay.motion.scores import goodness, measure

    rows = []
    for label, apart in APART.items():
        plain: dict[str, list[float]] = {}
        within: dict[str, list[float]] = {}
        for seed in range(SEEDS):
            motion, wrong = two_tasks(apart, seed)
            columns = measure(motion, names)
            for name in columns:
                good = goodness(columns, name)
                plain.setdefault(name, []).append(detection(good, wrong))
                within.setdefault(name, []).append(
                    stratified_detection(good, wrong, motion.lengths)
                )
        rows += [
            {
                "apart": label,
                "score_name": name,
                "value": float(np.mean(plain[name])),
                "stratified": float(np.mean(within[name])),
                "seeds": SEEDS,
            }
            for name in plain
        ]
    return rows


def write_tasks(folder: Path, about: Row) -> None:
    """Seconds, so it is computed anew each time."""
    from rlassay.motion.scores import EPISODE_SCORES

    names = [name for name in EPISODE_SCORES if name != "success"]
    write_table(folder / "tasks.csv", task_rows(names), COLUMNS, {**about, "complete": True})
