"""What learns when a critic is fitted in NumPy: Q towards returns, and beside it V, or the law of discrete actions."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlassay.critic.discrete import recorded_outputs, split_inputs
from rlassay.critic.model import Scaling
from rlassay.critic.settings import CriticSettings
from rlassay.critic.targets import Columns, usable_rows
from rlassay.kernel import choices, regression
from rlassay.kernel.regression import Regression

RECORD = 100  # steps between two points of the training curve
FIRST_RATE = 3.0  # times the learning rate of a fit that goes through all steps
AT_FULL_RATE = 1_000  # steps; a stretch that ends later has a lower rate
PROBE_ROWS = 2_000  # rows whose mean value makes the training curve
NETWORK_STREAM, PROBE_STREAM = 102, 103
Point = tuple[int, float, float]  # step, loss, mean value
Layers = list[dict[str, np.ndarray]]


class Lesson(NamedTuple):
    """What Q did in one step, for the other network to follow."""

    rows: np.ndarray
    values: np.ndarray
    rate: float
    loss: float


class Learner(ABC):
    """Q of one seed while it learns, and a network that learns beside it."""

    def __init__(
        self,
        columns: Columns,
        scaling: Scaling,
        settings: CriticSettings,
        seed: int,
        scale: tuple[float, float],
    ):
        self.settings, self.seed = settings, seed
        self.centre, self.spread = scale[0], scale[1] or 1.0
        self.observation_dim, self.inputs = columns.observation_dim, columns.inputs
        self.kept = usable_rows(columns)
        probed = np.arange(len(columns.inputs))[:: max(1, len(columns.inputs) // PROBE_ROWS)]
        self.probe = columns.inputs[probed[:PROBE_ROWS]]
        episodes = np.searchsorted(columns.starts, probed[:PROBE_ROWS], side="right")
        self.probe_starts = np.unique(episodes, return_index=True)[1]
        self.q, self.beside = self.networks(np.random.default_rng([seed, NETWORK_STREAM]), scaling)

    @abstractmethod
    def networks(self, rng: np.random.Generator, scaling: Scaling) -> tuple[Regression, Regression]:
        """Q, and the network beside it."""

    @abstractmethod
    def parameters(self) -> dict[str, Layers]:
        """What a critic of this kind is made of."""

    @abstractmethod
    def recorded_mean(self) -> float:
        """Mean output of Q for the recorded actions of the probed rows."""

    @abstractmethod
    def random_outputs(self) -> np.ndarray:
        """Outputs of Q for random actions, one a probed row."""

    @abstractmethod
    def learn_q(self, rows: np.ndarray, wanted: np.ndarray, rate: float) -> Lesson:
        """One step of Q on rows of the data."""

    @abstractmethod
    def learn_beside(self, lessons: Sequence[Lesson]) -> None:
        """The same steps of the other network."""

    def random_values(self) -> np.ndarray:
        """Values of random actions at the probed rows."""
        return self.centre + self.spread * self.random_outputs()

    def _value(self, output: float) -> float:
        return float(self.centre + self.spread * output)

    def recentre(self, values: np.ndarray, returns: np.ndarray) -> float:
        """Move Q so that its mean over the rows it learns from is that of their returns.

        That is where least squares ends; the last batches leave the mean a little off, and the mean is the score.
        """
        shift = float((returns[self.kept] - values[self.kept]).mean())
        self.q.layers[-1]["b"] += np.float32(shift / self.spread)
        return shift

    def train(self, returns: np.ndarray, first: int, last: int) -> list[Point]:
        """Updates `first` to `last` towards these returns; step, loss and mean value along the way.

        The other network follows Q and never leads it. It learns on the same core: operations are so short that two threads
        of Python wait for each other for as long as a second core saves, and where the machine is busy for longer.
        """
        wanted = ((returns[self.kept] - self.centre) / self.spread).astype(np.float32)
        size, usable = self.settings.batch_size, len(self.kept)
        updates = regression.batches(self.seed, (first, last), size, usable)
        points: list[Point] = []
        while some := list(itertools.islice(updates, RECORD)):
            lessons = [
                self.learn_q(self.kept.take(rows), wanted.take(rows), self._rate(step, first, last))
                for step, rows in some
            ]
            loss = float(np.mean([lesson.loss for lesson in lessons]))
            points.append((some[-1][0] + 1, loss, self._value(self.recorded_mean())))
            self.learn_beside(lessons)
        return points

    def _rate(self, step: int, first: int, last: int) -> float:
        """Falling to zero in every stretch, from a height that falls as stretches grow: each covers about as much ground."""
        rate = self.settings.learning_rate
        if not self.settings.decay:
            return rate
        highest = FIRST_RATE * rate * min(1.0, AT_FULL_RATE / last)
        return regression.cosine(highest, step - first, last - first)


class ContinuousLearner(Learner):
    """Q of a state and an action, and V, which follows it."""

    def networks(self, rng, scaling) -> tuple[Regression, Regression]:
        self.random = self.probe.copy()  # the same states with actions anywhere between the bounds
        drawn = np.random.default_rng([self.seed, PROBE_STREAM]).uniform(-1, 1, self.random.shape)
        self.random[:, self.observation_dim :] = drawn[:, self.observation_dim :]
        hidden = self.settings.hidden
        sizes = (self.inputs.shape[1], *hidden, 1), (self.observation_dim, *hidden, 1)
        q, v = (regression.network(regression.initial_layers(rng, each)) for each in sizes)
        return q, v

    def parameters(self) -> dict[str, Layers]:
        return {"q": self.q.copy_of_layers(), "v": self.beside.copy_of_layers()}

    def recorded_mean(self) -> float:
        return _mean_output(self.q, self.probe)

    def random_outputs(self) -> np.ndarray:
        return regression.evaluate(self.q.layers, self.random)[:, 0].astype(np.float64)

    def recentre(self, values: np.ndarray, returns: np.ndarray) -> float:
        """Q as ever, and V along with it."""
        shift = super().recentre(values, returns)
        of_v = _mean_output(self.beside, self.probe[:, : self.observation_dim])
        self.beside.layers[-1]["b"] += np.float32(self.recorded_mean() - of_v)
        return shift

    def learn_q(self, rows: np.ndarray, wanted: np.ndarray, rate: float) -> Lesson:
        values = self.q.outputs(self.inputs.take(rows, axis=0))
        error = values - wanted[:, None]
        self.q.learn(error, rate)
        return Lesson(rows, values, rate, float(np.vdot(error, error)) / error.size)

    def learn_beside(self, lessons: Sequence[Lesson]) -> None:
        for lesson in lessons:
            states = self.inputs.take(lesson.rows, axis=0)[:, : self.observation_dim]
            self.beside.learn(self.beside.outputs(states) - lesson.values, lesson.rate)


class DiscreteLearner(Learner):
    """Q of every action of a state, and the law by which the behaviour chooses."""

    def networks(self, rng, scaling) -> tuple[Regression, Regression]:
        assert scaling.numbers is not None
        states, self.places = split_inputs(self.inputs)
        self.states = np.ascontiguousarray(states)
        sizes = (self.observation_dim, *self.settings.hidden, scaling.numbers.count)
        q, law = (Regression(regression.initial_layers(rng, sizes)) for _ in range(2))
        return q, law

    def parameters(self) -> dict[str, Layers]:
        return {"q": self.q.copy_of_layers(), "law": self.beside.copy_of_layers()}

    def recorded_mean(self) -> float:
        return float(recorded_outputs(self.q.layers, self.probe).mean())

    def random_outputs(self) -> np.ndarray:
        """The mean over all actions of a state."""
        return regression.evaluate(self.q.layers, self.probe[:, :-1]).mean(axis=1, dtype=np.float64)

    def learn_q(self, rows: np.ndarray, wanted: np.ndarray, rate: float) -> Lesson:
        outputs, places = self.q.outputs(self.states.take(rows, axis=0)), self.places.take(rows)
        error = choices.of_chosen(outputs, places) - wanted
        self.q.descend(choices.squared_slope(outputs, places, wanted), rate)
        return Lesson(rows, error, rate, float(np.vdot(error, error)) / error.size)

    def learn_beside(self, lessons: Sequence[Lesson]) -> None:
        for lesson in lessons:
            outputs = self.beside.outputs(self.states.take(lesson.rows, axis=0))
            slope = choices.law_slope(outputs, self.places.take(lesson.rows))
            self.beside.descend(slope, lesson.rate)


def learner_kind(scaling: Scaling) -> type[Learner]:
    """Who learns from numbered actions, or from continuous ones."""
    return ContinuousLearner if scaling.numbers is None else DiscreteLearner


def _mean_output(network: Regression, inputs: np.ndarray) -> float:
    return regression.evaluate(network.layers, inputs).mean(dtype=np.float64)
