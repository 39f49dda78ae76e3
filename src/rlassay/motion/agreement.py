"""Do episodes agree on what to do in like states? Where they do not, a cloned policy averages over both."""

from __future__ import annotations

import weakref

import numpy as np

from rlassay.motion.trajectories import Motion, episode_means, neighbours, principal, thinned

NEIGHBOURS = 8
DIMENSIONS = 8  # of the states in which neighbours are sought; more make all states equally far
FOLDS = 4  # episodes are compared with those of other folds, never with themselves
ROWS = 40_000


def disagreement(motion: Motion) -> np.ndarray:
    """Squared distance of the action from the mean action at the 8 nearest states of other episodes. Lower is better.

    In units of the actions' variance, and without the neighbours' own noise: for actions that are a function of the
    state plus noise it is the noise's share of the variance. Fails for rare but right behaviour, whose neighbours are far,
    and where the task hides in what is not observed. One episode has no others.
    """
    rows, errors = disagreement_of_rows(motion)
    return episode_means(motion.episode[rows], errors, motion.count)


_known: weakref.WeakKeyDictionary[Motion, tuple[np.ndarray, np.ndarray]]
_known = weakref.WeakKeyDictionary()


def disagreement_of_rows(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are asked, evenly inside episodes, and their values; remembered, because frames and episodes ask."""
    if motion not in _known:
        _known[motion] = _disagreement_of_rows(motion)
    return _known[motion]


def _disagreement_of_rows(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """None where there is nothing to compare."""
    if motion.count < 2 or motion.scaled_states.shape[1] == 0:
        return np.empty(0, np.int64), np.empty(0)
    rows = thinned(motion, ROWS)
    states = principal(motion.scaled_states[rows], DIMENSIONS)
    actions = motion.actions[rows]
    variance = actions.var(axis=0)
    live = variance > 0
    if not live.any():
        return rows, np.zeros(len(rows))
    actions = actions[:, live] / np.sqrt(variance[live])
    return rows, conflict(states, actions, motion.episode[rows])


def conflict(states: np.ndarray, actions: np.ndarray, episode: np.ndarray) -> np.ndarray:
    """For every row the squared distance to the mean action of its neighbours in other folds, a column."""
    fold = episode % min(FOLDS, int(episode.max()) + 1)
    errors = np.zeros(len(states))
    for judged in np.unique(fold):
        mine, others = np.flatnonzero(fold == judged), np.flatnonzero(fold != judged)
        k = min(NEIGHBOURS, len(others))
        _, found = neighbours(states[others], states[mine], k)
        expected = actions[others][found].mean(axis=1)
        errors[mine] = ((actions[mine] - expected) ** 2).mean(axis=1) * k / (k + 1)
    return errors
