"""How many episodes are enough: held-out action error against the number of episodes, and where it is heading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.motion.trajectories import Motion, neighbours, principal, thinned

FEWEST = 8  # episodes
REPEATS = 5  # ways of holding out a quarter
HELD_OUT = 0.25
ROWS = 20_000
JUDGED = 3_000  # held-out rows of a repeat
NEIGHBOURS = 5
DIMENSIONS = 8
STEPS = 7  # sizes of a curve, at most
DRAWS = 200  # of the extrapolation's interval
FEW_REPEATS = 1.45  # Student's t over the normal quantile, times sqrt(5 / 4): resampling five repeats shows too little
WORTHWHILE = 0.05  # a relative gain below this from twice the episodes: they are enough
STREAM = 73
Regressor = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LearningCurve:
    """Held-out squared action error, of the actions' variance, by number of training episodes."""

    episodes: np.ndarray  # sizes
    errors: np.ndarray  # (repeats, sizes)
    regressor: str
    doubled: float  # error expected with twice the largest size
    interval: tuple[float, float]  # 90 % over repeats
    power: float  # exponent of the fitted fall; 0 is flat

    @property
    def mean(self) -> np.ndarray:
        return self.errors.mean(axis=0)

    @property
    def gain(self) -> float:
        """Share of the present error that twice the episodes would remove."""
        now = float(self.mean[-1])
        return max(0.0, (now - self.doubled) / now) if now > 0 else 0.0

    @property
    def enough(self) -> bool:
        return self.gain < WORTHWHILE

    def to_dict(self) -> dict[str, Any]:
        return {
            "episodes": self.episodes,
            "error": self.mean,
            "errors": self.errors,
            "regressor": self.regressor,
            "doubled": self.doubled,
            "interval": list(self.interval),
            "power": self.power,
            "gain": self.gain,
            "enough": self.enough,
        }


def learning_curve(motion: Motion, seed: int = 0) -> LearningCurve | None:
    """The curve over nested subsets of episodes; None for fewer than 8 episodes or constant actions."""
    variance = motion.actions.var(axis=0)
    if motion.count < FEWEST or not (variance > 0).any() or motion.scaled_states.shape[1] == 0:
        return None
    rows = thinned(motion, ROWS)
    states = principal(motion.scaled_states[rows], DIMENSIONS)
    live = variance > 0
    actions = motion.actions[rows][:, live] / np.sqrt(variance[live])
    sizes = _sizes(motion.count)
    splits = [
        _split(motion.count, np.random.default_rng([seed, STREAM, r])) for r in range(REPEATS)
    ]
    name = _better(states, actions, motion.episode[rows], splits[0], sizes[-1])
    curves = [
        _curve(states, actions, motion.episode[rows], split, sizes, REGRESSORS[name])
        for split in splits
    ]
    return extrapolated(sizes, np.array(curves), name, seed)


def _sizes(count: int) -> np.ndarray:
    largest = count - max(2, round(HELD_OUT * count))
    return np.unique(np.geomspace(2, largest, STEPS).round().astype(int))


def _split(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(count)
    held = max(2, round(HELD_OUT * count))
    return order[held:], order[:held]


def _curve(states, actions, episode, split, sizes, regressor: Regressor) -> list[float]:
    train, held = split
    judged = np.flatnonzero(np.isin(episode, held))
    judged = judged[:: -(-len(judged) // JUDGED)]
    errors = []
    for size in sizes:
        seen = np.isin(episode, train[:size])  # nested: a larger set holds the smaller ones
        told = regressor(states[seen], actions[seen], states[judged])
        errors.append(float(((told - actions[judged]) ** 2).mean()))
    return errors


def _better(states, actions, episode, split, largest: int) -> str:
    """The regressor with the smaller error where most is known."""
    errors = {
        name: _curve(states, actions, episode, split, [largest], regressor)[0]
        for name, regressor in REGRESSORS.items()
    }
    return min(errors, key=lambda name: errors[name])


def nearest(states: np.ndarray, actions: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Mean action of the five nearest states."""
    k = min(NEIGHBOURS, len(states))
    _, found = neighbours(states, asked, k)
    return actions[found].mean(axis=1)


def linear(states: np.ndarray, actions: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Ridge regression on the states."""
    inputs = np.concatenate([states, np.ones((len(states), 1))], axis=1)
    gram = inputs.T @ inputs + 1e-3 * len(inputs) * np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs.T @ actions)
    told = asked @ weights[:-1] + weights[-1]
    return np.clip(told, actions.min(axis=0), actions.max(axis=0))  # no action beyond those seen


def constant(states: np.ndarray, actions: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The mean action, whatever the state: the best where actions do not depend on states."""
    return np.broadcast_to(actions.mean(axis=0), (len(asked), actions.shape[1]))


REGRESSORS: dict[str, Regressor] = {"constant": constant, "nearest": nearest, "linear": linear}


def extrapolated(sizes: np.ndarray, errors: np.ndarray, name: str, seed: int = 0) -> LearningCurve:
    """Fit floor + scale * n^-power to the mean curve.

    The interval comes from resampled repeats, each fitted from a random one of the three smallest sizes on, so that it
    also shows how far the law itself can be trusted.
    """
    twice = 2.0 * sizes[-1]
    floor, scale, power = fit_power_law(sizes, errors.mean(axis=0))
    rng = np.random.default_rng([seed, STREAM, 99])
    drawn = []
    for _ in range(DRAWS):
        some = errors[rng.integers(0, len(errors), len(errors))].mean(axis=0)
        first = int(rng.integers(0, max(1, min(3, len(sizes) - 3))))
        a, b, c = fit_power_law(sizes[first:], some[first:])
        drawn.append(a + b * twice**-c)
    low, high = np.percentile(drawn, [5, 95])
    told = floor + scale * twice**-power
    below, above = max(0.0, told - low), max(0.0, high - told)
    interval = (float(max(0.0, told - FEW_REPEATS * below)), float(told + FEW_REPEATS * above))
    return LearningCurve(sizes, errors, name, float(told), interval, float(power))


POWERS = np.geomspace(0.05, 2.0, 400)


def fit_power_law(sizes: np.ndarray, errors: np.ndarray) -> tuple[float, float, float]:
    """(floor, scale, power) of floor + scale * n^-power with floor and scale at least 0, by least relative squares.

    For a given power the fit is linear, so a grid of powers finds the best one without a starting point.
    """
    if len(sizes) < 3 or errors.min() <= 0:
        return float(errors[-1]), 0.0, 0.0
    fall = np.asarray(sizes, np.float64)[None, :] ** -POWERS[:, None]
    weights = errors**-2 / (errors**-2).sum()
    middle, height = (fall * weights).sum(axis=1), float((errors * weights).sum())
    centred = fall - middle[:, None]
    scale = (weights * centred * (errors - height)).sum(axis=1)
    scale = np.maximum(scale / (weights * centred**2).sum(axis=1), 0.0)
    floor = height - scale * middle
    through_zero = (weights * fall * errors).sum(axis=1) / (weights * fall**2).sum(axis=1)
    scale, floor = np.where(floor < 0, through_zero, scale), np.maximum(floor, 0.0)
    misfit = floor[:, None] + scale[:, None] * fall - errors
    best = int((weights * misfit**2).sum(axis=1).argmin())
    return float(floor[best]), float(scale[best]), float(POWERS[best])
