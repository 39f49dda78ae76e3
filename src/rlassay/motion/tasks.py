"""Does an episode look like the task that it is labelled with?"""

from __future__ import annotations

import numpy as np

from rlassay.motion.likeness import courses
from rlassay.motion.trajectories import Motion, neighbours, principal

NEIGHBOURS = 8
DIRECTIONS = 10  # of the courses
FEWEST = 3  # episodes of a task; with fewer nothing is usual
OTHER_TASK = 0.5  # share above which an episode is said to look like another task


def task_mismatch(motion: Motion) -> np.ndarray:
    """Share of the 8 episodes with the nearest courses that carry the label of another task. Lower is better.

    An episode of a task with few episodes asks as many as that task has besides it. Fails where tasks differ in what is not
    observed (an instruction, a camera's view), and where more labels are wrong than right. Missing without two tasks, and
    for a task of fewer than 3 episodes.
    """
    found = np.full(motion.count, np.nan)
    if motion.tasks is None or motion.scaled_states.shape[1] == 0:
        return found
    _, label, counts = np.unique(motion.tasks, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return found
    points = principal(courses(motion), DIRECTIONS)
    most = min(NEIGHBOURS, int(counts.max()) - 1)
    for size in np.unique(np.minimum(counts[counts >= FEWEST] - 1, most)):
        asked = np.flatnonzero(
            (counts[label] >= FEWEST) & (np.minimum(counts[label] - 1, most) == size)
        )
        nearest = _others(points, asked, int(size))
        found[asked] = (label[nearest] != label[asked][:, None]).mean(axis=1)
    return found


def _others(points: np.ndarray, asked: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other points of every one that is asked; an equal point may stand in for oneself."""
    _, near = neighbours(points, points[asked], k + 1)
    itself = near == asked[:, None]
    itself[~itself.any(axis=1), -1] = True  # hidden behind equal points
    return near[~itself].reshape(len(asked), k)
