"""Whole episodes as points: their course resampled to the same number of moments."""

from __future__ import annotations

import numpy as np

from rlassay.motion.trajectories import Motion, neighbours, principal

MOMENTS = 16
DIMENSIONS = 8  # of the states, before resampling
COORDINATES = 32  # of the resampled course


def courses(motion: Motion) -> np.ndarray:
    """(episodes, coordinates): the scaled states at 16 moments from start to end, in principal directions."""
    states = principal(motion.scaled_states, DIMENSIONS)
    moments = np.linspace(0, 1, MOMENTS)
    place = motion.starts[:, None] + moments * (motion.lengths[:, None] - 1)
    below = np.floor(place).astype(int)
    above = np.minimum(below + 1, motion.stops[:, None] - 1)
    part = (place - below)[..., None]
    resampled = (1 - part) * states[below] + part * states[above]
    return principal(resampled.reshape(motion.count, -1), COORDINATES)


def distinctness(motion: Motion) -> np.ndarray:
    """Distance of the episode's course to that of the nearest other one, over its median; 0 is a repetition. Higher is better.

    Fails for a rare fault, which is most distinct of all: use it to find repetitions, not quality.
    """
    if motion.count < 2 or motion.scaled_states.shape[1] == 0:
        return np.full(motion.count, np.nan)
    points = courses(motion)
    nearest = neighbours(points, points, 2)[0][:, 1]
    usual = np.median(nearest)
    return nearest / usual if usual > 0 else nearest
