"""Stretches in which nothing happens, joints that freeze, and commands at their limits."""

from __future__ import annotations

import numpy as np

from rlassay.motion.trajectories import Motion, episode_means, spread

STILL = 0.01  # of a column's spread: less is no movement
STRETCH = 5  # steps without movement that make a stretch
LIVELY = 0.5  # a joint counts as moving when it changes in more than this share of the steps
AT_BOUND = 1e-3  # of an action's range


def long_runs(flags: np.ndarray, episode: np.ndarray, shortest: int) -> np.ndarray:
    """The flags that stand in runs of at least `shortest` rows of one episode; `flags` may have several columns."""
    flags = np.asarray(flags, bool)
    if flags.ndim == 2:
        columns = [long_runs(column, episode, shortest) for column in flags.T]
        return np.stack(columns, axis=1) if columns else flags
    change = np.flatnonzero((np.diff(flags) != 0) | (np.diff(episode) != 0)) + 1
    borders = np.concatenate([[0], change, [len(flags)]])
    return flags & np.repeat(np.diff(borders) >= shortest, np.diff(borders))


def _steps(columns: np.ndarray, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Change of each column from every row to the next of its episode, in units of spread; and those rows' episodes."""
    live = np.ptp(columns, axis=0) > 0
    change = np.abs(np.diff(columns[:, live], axis=0)) / spread(columns[:, live])
    within = motion.inside[:-1]
    return change[within], motion.episode[:-1][within]


def idle(motion: Motion) -> np.ndarray:
    """Share of steps in stretches of 5 or more in which neither state nor action moves. Lower is better.

    Fails where waiting is part of the task (a hand-over, a heater).
    """
    rows, flags = idle_rows(motion)
    return episode_means(motion.episode[rows], flags, motion.count)


def idle_rows(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Every row with a successor, and whether it stands in such a stretch."""
    still, moved, episode = _stillness(motion)
    return np.flatnonzero(motion.inside), long_runs(still & ~moved, episode, STRETCH)


def stalled(motion: Motion) -> np.ndarray:
    """Share of steps in stretches of 5 or more in which the action changes and the state does not. Lower is better.

    A blocked robot, a dead sensor or a record that stopped. Fails where states are stored with few digits.
    """
    rows, flags = stalled_rows(motion)
    return episode_means(motion.episode[rows], flags, motion.count)


def stalled_rows(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Every row with a successor, and whether it stands in such a stretch."""
    still, moved, episode = _stillness(motion)
    return np.flatnonzero(motion.inside), long_runs(still, episode, STRETCH) & moved


def _stillness(motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every step: no state moves; some action moves; the episode."""
    states, episode = _steps(motion.states, motion)
    actions, _ = _steps(motion.actions, motion)
    return np.all(states <= STILL, axis=1), np.any(actions > STILL, axis=1), episode


def frozen(motion: Motion) -> np.ndarray:
    """Share of (step, joint) in which a joint repeats its value for 5 or more steps while another one moves. Lower is better.

    Only joints that change in more than half of all steps are asked. A sensor that hangs, a joint that was switched off.
    Fails where all joints freeze together (see `stalled`) and for joints that rest by nature.
    """
    change, episode = _steps(motion.states, motion)
    lively = (change > 0).mean(axis=0) > LIVELY if len(change) else np.zeros(change.shape[1], bool)
    if lively.sum() < 2:
        return np.full(motion.count, np.nan)
    repeats = change[:, lively] <= 1e-9
    runs = long_runs(repeats, episode, STRETCH) & ~np.all(repeats, axis=1, keepdims=True)
    return episode_means(episode, runs.mean(axis=1), motion.count)


def saturation(motion: Motion) -> np.ndarray:
    """Share of steps with a coordinate of the action at its bound. Lower is better.

    Bounds are the file's, else the data's own extremes. Fails for bang-bang control, for grippers that are open or shut,
    and says nothing about discrete actions.
    """
    rows, flags = saturated_rows(motion)
    return episode_means(motion.episode[rows], flags, motion.count)


def saturated_rows(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Every row, and whether its action is at a bound; no rows for discrete actions."""
    if motion.discrete:
        return np.empty(0, np.int64), np.empty(0, bool)
    named = motion.low is not None and motion.high is not None
    low = motion.low if named else motion.actions.min(axis=0)
    high = motion.high if named else motion.actions.max(axis=0)
    assert low is not None and high is not None
    margin = AT_BOUND * (high - low)
    beyond = (motion.actions <= low + margin) | (motion.actions >= high - margin)
    beyond &= high > low  # a constant action is not at a limit
    return np.arange(len(motion.actions)), np.any(beyond, axis=1)
