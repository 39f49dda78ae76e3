"""Does the state follow the commanded action, and how many steps later?

A command and a response are compared. Where states and actions have the same number of columns, the change of a target may
show as a change of the state (position control). Else, and where that explains more, the command is the part of the
change of state that a linear map of the action explains once the state itself is accounted for (torques, velocities).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.motion.trajectories import Motion, thinned

LAGS = 10  # steps searched in both directions
FIT_ROWS = 20_000
RIDGE = 1e-3  # of the rows
WEAKEST = 0.1  # correlation below which the states do not follow the actions in any linear way
PLAIN = 0.5  # correlation from which position control needs no further reading
STRIDE = 4  # steps over which positions and targets change: one step alone is mostly noise
SHORTEST = 20  # pairs of rows for a correlation


@dataclass(frozen=True)
class Tracking:
    """How each episode's states follow its actions."""

    correlation: np.ndarray  # at each episode's best lag; NaN where it is too short
    lag: np.ndarray  # best lag in steps
    usual: float  # median of the lags
    per_joint: np.ndarray  # correlation of each command at the usual lag, over all episodes
    kind: str  # "matched" or "mapped"

    strength: float  # median correlation at the usual lag; 0 where none is known

    def to_dict(self) -> dict[str, Any]:
        """For JSON; unknown lags are null."""
        return {
            "kind": self.kind,
            "correlation": self.strength,
            "usual_lag": self.usual if self.usual == self.usual else None,
            "lags": [lag if lag == lag else None for lag in self.lag.tolist()],
            "per_joint": [each if each == each else None for each in self.per_joint.tolist()],
        }

    @property
    def follows(self) -> bool:
        return self.strength >= WEAKEST


_known: weakref.WeakKeyDictionary[Motion, Tracking] = weakref.WeakKeyDictionary()


def track(motion: Motion) -> Tracking:
    """The better of the two readings of "follows"; remembered, because several scores ask."""
    if motion not in _known:
        _known[motion] = _track(motion)
    return _known[motion]


def _track(motion: Motion) -> Tracking:
    mapped = _tracked(motion, *_mapped(motion), "mapped")
    if motion.states.shape[1] != motion.actions.shape[1]:
        return mapped
    matched = _tracked(motion, *_matched(motion), "matched")
    if matched.strength >= PLAIN or matched.strength >= mapped.strength:
        return matched
    return mapped


def _matched(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Changes of targets and of positions, column by column, in units of their deviation."""
    return (
        _unit(_changes(motion.actions, motion, STRIDE)),
        _unit(_changes(motion.states, motion, STRIDE)),
    )


def _mapped(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """What a linear map of the action adds to the change of state, and the change that the state leaves unexplained."""
    response = _unit(_changes(motion.states, motion))
    states, actions = motion.scaled_states, motion.scaled_actions
    rows = thinned(motion, FIT_ROWS)
    rows = rows[motion.inside[rows]]
    if len(rows) == 0 or actions.shape[1] == 0:
        return np.zeros_like(response), response
    inputs = np.concatenate([states[rows], actions[rows], np.ones((len(rows), 1))], axis=1)
    gram = inputs.T @ inputs + RIDGE * len(rows) * np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs.T @ response[rows])
    by_state, by_action, constant = np.split(
        weights, [states.shape[1], states.shape[1] + actions.shape[1]]
    )
    return actions @ by_action, response - states @ by_state - constant


def _changes(columns: np.ndarray, motion: Motion, stride: int = 1) -> np.ndarray:
    """The change to the row `stride` steps later in the episode; 0 where the episode has ended by then."""
    changes = np.zeros_like(columns)
    changes[:-stride] = columns[stride:] - columns[:-stride]
    steps_left = motion.stops[motion.episode] - 1 - np.arange(len(columns))
    changes[steps_left < stride] = 0.0
    return changes


def _unit(columns: np.ndarray) -> np.ndarray:
    deviation = columns.std(axis=0)
    return columns / np.where(deviation > 0, deviation, 1.0)


def _tracked(motion: Motion, command: np.ndarray, response: np.ndarray, kind: str) -> Tracking:
    table = np.array([_by_lag(command[rows], response[rows]) for rows in motion.rows()])
    known = np.any(np.isfinite(table), axis=1)
    correlation, lag = np.full(motion.count, np.nan), np.full(motion.count, np.nan)
    if not known.any():
        return Tracking(correlation, lag, np.nan, np.full(command.shape[1], np.nan), kind, 0.0)
    best = np.nanargmax(table[known], axis=1)
    correlation[known] = table[known, best]
    lag[known] = np.arange(-LAGS, LAGS + 1)[best]
    usual = int(np.round(np.nanmedian(lag)))
    inner = abs(usual) < LAGS  # a best lag at the edge of the search is no best lag
    strength = float(np.nan_to_num(np.nanmedian(table[known, usual + LAGS]))) if inner else 0.0
    joints = _per_joint(motion, command, response, usual)
    return Tracking(correlation, lag, float(usual), joints, kind, strength)


def _shifted(command: np.ndarray, response: np.ndarray, lag: int) -> tuple[np.ndarray, np.ndarray]:
    """The command, and the response `lag` steps later."""
    rows = len(command)
    if lag >= 0:
        return command[: max(0, rows - lag)], response[lag:]
    return command[-lag:], response[: max(0, rows + lag)]


def _by_lag(command: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Correlation at every lag, over all columns together; NaN where too few rows overlap."""
    found = np.full(2 * LAGS + 1, np.nan)
    for place, lag in enumerate(range(-LAGS, LAGS + 1)):
        ahead, after = _shifted(command, response, lag)
        if len(ahead) >= SHORTEST:
            norm = np.sqrt((ahead**2).sum() * (after**2).sum())
            found[place] = (ahead * after).sum() / norm if norm > 1e-12 else 0.0
    return found


def _per_joint(motion: Motion, command: np.ndarray, response: np.ndarray, lag: int) -> np.ndarray:
    """Correlation of each column at one lag, over all episodes; 0 for a column that never changes."""
    sums = np.zeros((3, command.shape[1]))
    for rows in motion.rows():
        ahead, after = _shifted(command[rows], response[rows], lag)
        sums += np.stack([(ahead * after).sum(axis=0), (ahead**2).sum(0), (after**2).sum(0)])
    norm = np.sqrt(sums[1] * sums[2])
    return np.divide(sums[0], norm, out=np.zeros(len(norm)), where=norm > 1e-12)


def tracking_error(motion: Motion) -> np.ndarray:
    """1 minus the correlation of command and response at the episode's best lag. Lower is better.

    Missing where states do not follow actions in a linear way at all (median correlation below 0.1). Fails under strong
    contacts, and where the observation holds no positions.
    """
    tracking = track(motion)
    return 1 - tracking.correlation if tracking.follows else np.full(motion.count, np.nan)


def lag_error(motion: Motion) -> np.ndarray:
    """Steps between the episode's best lag and the usual one: a desynchronised recording shows. Lower is better.

    Fails for slow or periodic motion, where the best lag is ill-defined, and when most episodes are desynchronised.
    """
    tracking = track(motion)
    return (
        np.abs(tracking.lag - tracking.usual) if tracking.follows else np.full(motion.count, np.nan)
    )
