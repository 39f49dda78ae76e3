"""The cloned policy behind `bc_error`: its error on unseen rows, and a fit that ends once that error has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlassay.data.discrete import ActionNumbers
from rlassay.kernel import choices, regression
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

    @property
    def outputs(self) -> int:
        return len(self.mean)

    def lessons(self, actions: np.ndarray) -> np.ndarray:
        """What a network is taught."""
        return self.standardise(actions)

    def teach(self, network: Regression, lessons: np.ndarray, states: np.ndarray, rate: float):
        """One step on a batch."""
        network.learn(network.outputs(states) - lessons, rate)

    def errors(self, layers: Layers, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Squared error a row, the mean over dimensions that move, in units of their variance."""
        wanted = self.standardise(actions)
        moving = max(int((wanted != 0).any(axis=0).sum()), 1)
        difference = mlp(layers, states) - wanted
        return (difference.astype(np.float64) ** 2 * (wanted != 0).any(axis=0)).sum(axis=1) / moving


@dataclass(frozen=True)
class ActionLaw:
    """Numbered actions, and the log-loss of their frequencies among those that were learned from."""

    numbers: ActionNumbers
    loss_of_frequencies: float

    @classmethod
    def of(cls, actions: np.ndarray, numbers: ActionNumbers) -> ActionLaw:
        shares = np.bincount(actions[:, 0] - numbers.first, minlength=numbers.count) / len(actions)
        seen = shares[shares > 0]
        return cls(numbers, float(-(seen * np.log(seen)).sum()))

    @property
    def outputs(self) -> int:
        return self.numbers.count

    def lessons(self, actions: np.ndarray) -> np.ndarray:
        return actions[:, 0].astype(np.int64) - self.numbers.first

    def teach(self, network: Regression, lessons: np.ndarray, states: np.ndarray, rate: float):
        network.descend(choices.law_slope(network.outputs(states), lessons), rate)

    def errors(self, layers: Layers, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Log-loss a row, as a share of the frequencies'; one action throughout has nothing to predict."""
        if self.loss_of_frequencies == 0:
            return np.zeros(len(states))
        loss, places = np.empty(len(states)), self.lessons(actions)
        for part in choices.blocks(len(states), self.outputs):
            loss[part] = choices.log_loss(mlp(layers, states[part]), places[part])
        return loss / self.loss_of_frequencies

    def entropies(self, layers: Layers, states: np.ndarray) -> np.ndarray:
        """Entropy of the law at every state, in nats."""
        found = np.empty(len(states))
        for part in choices.blocks(len(states), self.outputs):
            logs = choices.log_law(mlp(layers, states[part]))
            found[part] = -(np.exp(logs) * logs).sum(axis=1)
        return found


@dataclass(frozen=True)
class Cloned:
    """A cloned policy a seed, and the steps that each was trained."""

    layers: tuple[Layers, ...]
    scale: ActionScale | ActionLaw
    steps: int

    def spread(self, member: int, states: np.ndarray) -> np.ndarray:
        """Of discrete actions: how undecided the law is at every state."""
        assert isinstance(self.scale, ActionLaw)
        return self.scale.entropies(self.layers[member], states)

    def cloning_errors(self, member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.scale.errors(self.layers[member], states, actions)


@dataclass(frozen=True)
class Recorded:
    """Scaled states with their actions; `starts` tells where each episode begins."""

    states: np.ndarray
    actions: np.ndarray
    starts: np.ndarray


def clone_until_settled(
    seen: Recorded,
    unseen: Recorded,
    settings: BaselineSettings,
    seeds: Sequence[int],
    numbers: ActionNumbers | None = None,
) -> Cloned:
    """Train in stretches until the error on unseen rows moved little beside its interval from episodes, for every seed.

    `numbers` are those of discrete actions, which are cloned by a classifier.
    """
    scale = scale_of(seen.actions, numbers)
    wanted = scale.lessons(seen.actions)
    networks = [_initial(seed, seen.states.shape[1], scale) for seed in seeds]
    before, last = None, 0
    for first, last in regression.stretches(settings.fit_steps, FIRST_STRETCH, LONGEST_STRETCH):
        regression.for_every_seed(
            lambda k, span=(first, last): _train(
                networks[k], scale, seen.states, wanted, settings, seeds[k], span
            ),
            len(seeds),
        )
        errors = [scale.errors(one.layers, unseen.states, unseen.actions) for one in networks]
        means = [float(each.mean()) for each in errors]
        if before is not None and _settled(errors, before, unseen.starts):
            break
        before = means
    return Cloned(tuple(one.copy_of_layers() for one in networks), scale, last)


def clone(
    seen: Recorded, settings: BaselineSettings, seeds: Sequence[int], numbers: ActionNumbers
) -> Cloned:
    """Train a classifier to the end, for every seed."""
    scale, steps = scale_of(seen.actions, numbers), settings.fit_steps
    wanted = scale.lessons(seen.actions)
    networks = [_initial(seed, seen.states.shape[1], scale) for seed in seeds]
    for network, seed in zip(networks, seeds, strict=True):
        _train(network, scale, seen.states, wanted, settings, seed, (0, steps))
    return Cloned(tuple(one.copy_of_layers() for one in networks), scale, steps)


def scale_of(actions: np.ndarray, numbers: ActionNumbers | None) -> ActionScale | ActionLaw:
    """What errors are measured by: the actions' variance, or the log-loss of their frequencies."""
    return ActionScale.of(actions) if numbers is None else ActionLaw.of(actions, numbers)


def _initial(seed: int, inputs: int, scale: ActionScale | ActionLaw) -> Regression:
    rng = np.random.default_rng([seed, NETWORK_STREAM])
    return Regression(regression.initial_layers(rng, (inputs, *HIDDEN, scale.outputs)))


def _train(
    network: Regression,
    scale: ActionScale | ActionLaw,
    states: np.ndarray,
    wanted: np.ndarray,
    settings: BaselineSettings,
    seed: int,
    span: tuple[int, int],
) -> None:
    first, last = span
    for step, rows in regression.batches(seed, span, settings.fit_batch_size, len(states)):
        rate = regression.cosine(settings.fit_learning_rate, step - first, last - first)
        scale.teach(network, wanted.take(rows, axis=0), states.take(rows, axis=0), rate)


def _settled(errors: Sequence[np.ndarray], before: Sequence[float], starts: np.ndarray) -> bool:
    for each, old in zip(errors, before, strict=True):
        allowed = SHARE_OF_INTERVAL * HALF_WIDTH * clustered_error(each, starts)
        if len(starts) < 2:
            allowed = SHARE_OF_ERROR * float(each.mean())
        if abs(float(each.mean()) - old) > allowed:
            return False
    return True
