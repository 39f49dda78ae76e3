"""Where episodes start and end, and whether they are marked as a success."""

from __future__ import annotations

import numpy as np

from rlassay.motion.trajectories import Motion, neighbours

NEIGHBOURS = 5
FEWEST = 5  # episodes; fewer have no usual start


def strangeness(points: np.ndarray, k: int = NEIGHBOURS) -> np.ndarray:
    """Mean distance to the k nearest other points, over the median of that: 1 is usual, 10 is far away."""
    count = len(points)
    if count < FEWEST or points.shape[1] == 0:
        return np.full(count, np.nan)
    k = min(k, count - 1)
    distance, _ = neighbours(points, points, k + 1)  # the first is the point itself
    mean = distance[:, 1:].mean(axis=1)
    usual = np.median(mean)
    if usual <= 0:  # most starts are the very same: distances in units of the states' spread
        usual = 1.0
    return mean / usual


def outlying_start(motion: Motion) -> np.ndarray:
    """Distance of the first state from the nearest other first states, over its median. Lower is better.

    A recording that began late shows. Fails where starts are meant to vary: then the rare start is the useful one.
    """
    return strangeness(motion.scaled_states[motion.starts])


def outlying_end(motion: Motion) -> np.ndarray:
    """The same for the last state: a task that was not finished, or finished elsewhere. Lower is better.

    Fails where goals vary from episode to episode.
    """
    return strangeness(motion.scaled_states[motion.stops - 1])


def success(motion: Motion) -> np.ndarray:
    """1 where the file marks the episode as a success, 0 where not, missing without a mark. Higher is better.

    As reliable as whoever set the mark.
    """
    return np.full(motion.count, np.nan) if motion.success is None else motion.success
