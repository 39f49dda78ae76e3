"""Made demonstrations whose right scores are plain to see."""

import numpy as np

from rlassay.data.dataset import Dataset, Origin
from rlassay.motion.trajectories import Motion


def made_motion(count=20, length=120, dimensions=4, noise=0.02, seed=0, lag=1) -> Motion:
    """Arms that follow their targets `lag` steps later: reaches between random waypoints, with sensor noise."""
    rng = np.random.default_rng(seed)
    states, actions = [], []
    for _ in range(count):
        way = reach(length + lag, dimensions, rng)
        states.append(way[:length] + noise * rng.normal(size=(length, dimensions)))
        actions.append(way[lag:] + noise * rng.normal(size=(length, dimensions)))
    return Motion(np.concatenate(states), np.concatenate(actions), np.arange(count) * length)


def reach(length: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """A smooth path through five nearby waypoints, the same for all but for a small offset."""
    base = np.array([[0, 1, 0.3, -0.5, 0.8], [1, 0.2, -0.4, 0.6, 0.1]])
    points = base[np.arange(dimensions) % 2].T * (1 + np.arange(dimensions)) ** 0.5
    points = points + 0.1 * rng.normal(size=points.shape)
    moment = np.linspace(0, len(points) - 1, length)
    below = np.minimum(moment.astype(int), len(points) - 2)
    part = moment - below
    part = (part**3 * (10 - 15 * part + 6 * part**2))[:, None]  # least jerk between waypoints
    return (1 - part) * points[below] + part * points[below + 1]


def changed(motion: Motion, **columns) -> Motion:
    """The same motion with other columns."""
    kept = {name: getattr(motion, name) for name in ("states", "actions", "starts", "low", "high")}
    return Motion(**{**kept, **columns})


def dataset_of(motion: Motion, extras=None, metadata=None) -> Dataset:
    """The motion as a file would bring it, without rewards."""
    return Dataset.from_columns(
        observations=motion.states.astype(np.float32),
        actions=motion.actions.astype(np.float32),
        rewards=None,
        terminals=np.zeros(len(motion.states), bool),
        episode_starts=motion.starts,
        origin=Origin(extras=extras or {}, metadata=metadata or {}),
    )
