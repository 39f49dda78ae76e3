"""How much the actions of an episode depend on its states: mutual information by nearest neighbours."""

from __future__ import annotations

import numpy as np

from rlassay.motion.trajectories import Motion, episode_means, principal, thinned

NEIGHBOURS = 5
DIMENSIONS = 8  # of states and of actions
ROWS = 16_000
BATCH = 2_000  # rows that are neighbours of each other
JITTER = 1e-6  # of a column's deviation: equal rows have no distance
STREAM = 71


def mutual_information(motion: Motion, seed: int = 0) -> np.ndarray:
    """Mean contribution of the episode's rows to I(state; action), in nats. Higher is better.

    DemInf (Hejna et al. 2025) with the estimator of Kraskov, Stoegbauer and Grassberger on scaled columns, in at most 8
    principal directions each. High where the data is varied in its states and the action is predictable. Fails for
    episodes in a small, well-known part of the space, where the action is predictable for lack of choice, and for
    fewer than some hundred rows.
    """
    states, actions = motion.scaled_states, motion.scaled_actions
    if states.shape[1] == 0 or actions.shape[1] == 0:
        return np.full(motion.count, np.nan)
    rows = thinned(motion, ROWS)
    if len(rows) <= NEIGHBOURS + 1:
        return np.full(motion.count, np.nan)
    left = _unit(principal(states[rows], DIMENSIONS))
    right = _unit(principal(actions[rows], DIMENSIONS))
    parts = np.random.default_rng([seed, STREAM]).permutation(len(rows))
    values = np.zeros(len(rows))
    for batch in np.array_split(parts, max(1, round(len(rows) / BATCH))):
        values[batch] = ksg(left[batch], right[batch], seed=seed)
    return episode_means(motion.episode[rows], values, motion.count)


def _unit(columns: np.ndarray) -> np.ndarray:
    deviation = columns.std(axis=0)
    return columns / np.where(deviation > 0, deviation, 1.0)


def ksg(left: np.ndarray, right: np.ndarray, k: int = NEIGHBOURS, seed: int = 0) -> np.ndarray:
    """Each row's part of the mutual information of two sets of columns; their mean is the estimate, in nats."""
    from scipy.special import digamma

    rng = np.random.default_rng([seed, STREAM, 1])
    left, right = _jittered(left, rng), _jittered(right, rng)
    apart_left, apart_right = _chebyshev(left), _chebyshev(right)
    together = np.maximum(apart_left, apart_right)
    reach = np.partition(together, k, axis=1)[:, k][:, None]  # place 0 is the row itself
    near_left = (apart_left < reach).sum(axis=1) - 1
    near_right = (apart_right < reach).sum(axis=1) - 1
    return digamma(k) + digamma(len(left)) - digamma(near_left + 1) - digamma(near_right + 1)


def _jittered(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=columns.shape) * JITTER * (columns.std(axis=0) + 1e-300)
    return (columns + noise).astype(np.float32)


def _chebyshev(columns: np.ndarray) -> np.ndarray:
    """Largest difference of any column, for every pair of rows."""
    apart = np.zeros((len(columns), len(columns)), np.float32)
    part = np.empty_like(apart)
    for column in columns.T:
        np.subtract(column[:, None], column[None, :], out=part)
        np.maximum(apart, np.abs(part, out=part), out=apart)
    return apart
