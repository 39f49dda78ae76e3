"""The cloned policy behind `bc_error`: its error on unseen rows, and a fit that ends once that error has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlassay.kernel import regression
from rlassay.kernel.forward import Layers, mlp
from rlassay.kernel.regression import Regression
from rlassay.scoring.settings import BaselineSettings
from rlassay.stats import clustered_error

HIDDEN = (100, 100)
NETWORK_STREAM = 301
FIRST_STRETCH, LONGEST_STRETCH = 500, 1_000  # steps
SHARE_OF_INTERVAL = 0.2  # of the half-width; what the error may move over the last stretch
SHARE_OF_ERROR = 0.02  # the same where one episode leaves no interval
HALF_WIDTH = 1.96  # standard errors


@dataclass(frozen=True)
class ActionScale:
    """Mean and deviation of the actions; a constant dimension has nothing to predict and is left out of errors."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, actions: np.ndarray) -> ActionScale:
        return cls(actions.mean(axis=0, dtype=np.float64), actions.std(axis=0, dtype=np.float64))

    def standardise(self, actions: np.ndarray) -> np.ndarray:
        moving = self.deviation > 1e-6 * np.maximum(1.0, np.abs(self.mean))
        scale = np.where(moving, self.deviation, 1.0)
        return ((actions - self.mean) / scale * moving).astype(np.float32)

    def errors(self, layers: Layers, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Squared error a row, the mean over dimensions that move, in units of their variance."""
        wanted = self.standardise(actions)
        moving = max(int((wanted != 0).any(axis=0).sum()), 1)
        difference = mlp(layers, states) - wanted
        return (difference.astype(np.float64) ** 2 * (wanted != 0).any(axis=0)).sum(axis=1) / moving


@dataclass(frozen=True)
class Cloned:
    """A cloned policy a seed, and the steps that each was trained."""

    layers: tuple[Layers, ...]
    scale: ActionScale
    steps: int

    def cloning_errors(self, member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.scale.errors(self.layers[member], states, actions)


@dataclass(frozen=True)
class Recorded:
    """Scaled states with their actions; `starts` tells where each episode begins."""

    states: np.ndarray
    actions: np.ndarray
    starts: np.ndarray


def clone_until_settled(
    seen: Recorded, unseen: Recorded, settings: BaselineSettings, seeds: Sequence[int]
) -> Cloned:
    """Train in stretches until the error on unseen rows moved little beside its interval from episodes, for every seed."""
    scale = ActionScale.of(seen.actions)
    wanted = scale.standardise(seen.actions)
    sizes = (seen.states.shape[1], *HIDDEN, seen.actions.shape[1])
    networks = [_initial(seed, sizes) for seed in seeds]
    before, last = None, 0
    for first, last in regression.stretches(settings.fit_steps, FIRST_STRETCH, LONGEST_STRETCH):
        regression.for_every_seed(
            lambda k, span=(first, last): _train(
                networks[k], seen.states, wanted, settings, seeds[k], span
            ),
            len(seeds),
        )
        errors = [scale.errors(one.layers, unseen.states, unseen.actions) for one in networks]
        means = [float(each.mean()) for each in errors]
        if before is not None and _settled(errors, before, unseen.starts):
            break
        before = means
    return Cloned(tuple(one.copy_of_layers() for one in networks), scale, last)


def _initial(seed: int, sizes: Sequence[int]) -> Regression:
    rng = np.random.default_rng([seed, NETWORK_STREAM])
    return Regression(regression.initial_layers(rng, sizes))


def _train(
    network: Regression,
    states: np.ndarray,
    wanted: np.ndarray,
    settings: BaselineSettings,
    seed: int,
    span: tuple[int, int],
) -> None:
    first, last = span
    for step, rows in regression.batches(seed, span, settings.fit_batch_size, len(states)):
        rate = regression.cosine(settings.fit_learning_rate, step - first, last - first)
        outputs = network.outputs(states.take(rows, axis=0))
        network.learn(outputs - wanted.take(rows, axis=0), rate)


def _settled(errors: Sequence[np.ndarray], before: Sequence[float], starts: np.ndarray) -> bool:
    for each, old in zip(errors, before, strict=True):
        allowed = SHARE_OF_INTERVAL * HALF_WIDTH * clustered_error(each, starts)
        if len(starts) < 2:
            allowed = SHARE_OF_ERROR * float(each.mean())
        if abs(float(each.mean()) - old) > allowed:
            return False
    return True
