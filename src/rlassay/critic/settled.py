"""The same critic in a fraction of the steps: trained in stretches until its mean value has settled, in NumPy.

Each stretch has its own decay of the rate and starts from returns computed anew. Training ends when the mean value, of the
recorded and of random actions, moved little over the last stretch beside its interval from episodes, and the diagnosis on
held-out episodes passes or cannot be asked; else it goes on to `critic.steps`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from rlassay.critic.diagnosis import held_out_verdict
from rlassay.critic.model import Critic, Scaling
from rlassay.critic.settings import CriticSettings
from rlassay.critic.targets import Columns, bootstrapped_returns, first_returns, usable_rows
from rlassay.kernel import regression
from rlassay.kernel.regression import Regression
from rlassay.stats import clustered_error

SHARE_OF_INTERVAL = 0.2  # of the half-width; what the mean may move over the last stretch
SHARE_OF_DEVIATION = 0.01  # the same where one episode leaves no interval
HALF_WIDTH = 1.96  # standard errors
FIRST_STRETCH = 500  # steps
RECORD = 100  # steps between two points of the training curve
PROBE_ROWS = 2_000  # rows whose mean value makes the training curve
NETWORK_STREAM, PROBE_STREAM = 102, 103
OnProgress = Callable[[int, str], None]
Point = tuple[int, float, float]  # step, loss, mean value


def fit_until_settled(
    columns: Columns,
    held: Columns,
    scaling: Scaling,
    settings: CriticSettings,
    seeds: Sequence[int],
    on_progress: OnProgress,
) -> Critic:
    """Train Q and V for every seed; all of them stop together."""
    at_first = first_returns(columns, settings.discount)
    scale = (float(at_first.mean()), float(at_first.std()))
    learners = [_Learner(columns, settings, seed, scale) for seed in seeds]
    curve: dict[str, list] = {"step": [], "loss": [], "value": []}

    def critic() -> Critic:
        parameters = tuple(learner.parameters() for learner in learners)
        return Critic(settings, tuple(seeds), scaling, parameters, *scale, curve)

    returns, before = [at_first] * len(seeds), None
    for first, last in regression.stretches(settings.steps, FIRST_STRETCH, settings.refresh):
        points = regression.for_every_seed(
            lambda k, span=(first, last), wanted=returns: learners[k].train(wanted[k], *span),
            len(seeds),
        )
        _add_to_curve(curve, points)
        values, shifts = _recentred(critic(), learners, returns, columns)
        now = critic()
        curve["value"][-1] += float(np.mean(shifts))
        on_progress(last, f"value {curve['value'][-1]:.4g}")
        means = [learner.means(each) for learner, each in zip(learners, values, strict=True)]
        settled = before is not None and _settled(columns, values, before, means)
        if settled and held_out_verdict(now, held) is not False:
            break
        before = means
        if last < settings.steps:
            returns = [bootstrapped_returns(now, k, columns, values[k]) for k in range(len(seeds))]
    return critic()


def _recentred(
    critic: Critic, learners: Sequence[_Learner], returns: Sequence[np.ndarray], columns: Columns
) -> tuple[list[np.ndarray], list[float]]:
    """Values of every seed at all rows, after their means were set right, and how far these moved."""
    values = [critic.q_at(k, columns.inputs) for k in range(len(learners))]
    shifts = [
        learner.recentre(each, wanted)
        for learner, each, wanted in zip(learners, values, returns, strict=True)
    ]
    return [each + shift for each, shift in zip(values, shifts, strict=True)], shifts


def _add_to_curve(curve: dict[str, list], points: Sequence[Sequence[Point]]) -> None:
    """Points of every seed at the same steps; the curve shows their means."""
    for each in zip(*points, strict=True):
        for name, number in zip(("step", "loss", "value"), np.mean(each, axis=0), strict=True):
            curve[name].append(int(number) if name == "step" else float(number))


def _settled(
    columns: Columns,
    values: Sequence[np.ndarray],
    before: Sequence[tuple[float, float]],
    after: Sequence[tuple[float, float]],
) -> bool:
    """Whether the means, of every seed, moved little beside what episodes leave open."""
    for each, old, new in zip(values, before, after, strict=True):
        error = clustered_error(each, columns.starts)
        allowed = SHARE_OF_INTERVAL * HALF_WIDTH * error
        if len(columns.starts) < 2:
            allowed = SHARE_OF_DEVIATION * float(each.std())
        if max(abs(np.subtract(new, old))) > allowed:
            return False
    return True


class _Learner:
    """Q and V of one seed while they learn."""

    def __init__(
        self, columns: Columns, settings: CriticSettings, seed: int, scale: tuple[float, float]
    ):
        self.settings, self.seed = settings, seed
        self.centre, self.spread = scale[0], scale[1] or 1.0
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        self.observation_dim, dims = columns.observation_dim, columns.inputs.shape[1]
        self.q = Regression(regression.initial_layers(rng, (dims, *settings.hidden, 1)))
        sizes = (self.observation_dim, *settings.hidden, 1)
        self.v = Regression(regression.initial_layers(rng, sizes))
        self.inputs, self.kept = columns.inputs, usable_rows(columns)
        self.probe = columns.inputs[:: max(1, len(columns.inputs) // PROBE_ROWS)][:PROBE_ROWS]
        self.random = self.probe.copy()  # the same states with actions anywhere between the bounds
        drawn = np.random.default_rng([seed, PROBE_STREAM]).uniform(-1, 1, self.random.shape)
        self.random[:, self.observation_dim :] = drawn[:, self.observation_dim :]

    def parameters(self) -> dict[str, list[dict[str, np.ndarray]]]:
        return {"q": self.q.copy_of_layers(), "v": self.v.copy_of_layers()}

    def means(self, values: np.ndarray) -> tuple[float, float]:
        """Mean value of the recorded actions, and of random ones."""
        return float(values.mean()), self._mean_at(self.random)

    def _mean_at(self, inputs: np.ndarray) -> float:
        mean = regression.evaluate(self.q.layers, inputs).mean(dtype=np.float64)
        return float(self.centre + self.spread * mean)

    def recentre(self, values: np.ndarray, returns: np.ndarray) -> float:
        """Move Q so that its mean over the rows it learns from is that of their returns, and V along with it.

        That is where least squares ends; the last batches leave the mean a little off, and the mean is the score.
        """
        shift = float((returns[self.kept] - values[self.kept]).mean())
        self.q.layers[-1]["b"] += np.float32(shift / self.spread)
        of_q = regression.evaluate(self.q.layers, self.probe).mean(dtype=np.float64)
        states = self.probe[:, : self.observation_dim]
        of_v = regression.evaluate(self.v.layers, states).mean(dtype=np.float64)
        self.v.layers[-1]["b"] += np.float32(of_q - of_v)
        return shift

    def train(self, returns: np.ndarray, first: int, last: int) -> list[Point]:
        """Updates `first` to `last` towards these returns; step, loss and mean value along the way.

        V follows Q and never leads it, so it learns a few steps behind, on another core.
        """
        wanted = ((returns[self.kept] - self.centre) / self.spread).astype(np.float32)[:, None]
        size, usable = self.settings.batch_size, len(self.kept)
        updates = regression.batches(self.seed, (first, last), size, usable)
        points: list[Point] = []
        with ThreadPoolExecutor(1) as follower:
            behind = [follower.submit(self._learn_v, ())]
            while some := list(itertools.islice(updates, RECORD)):
                lessons = [self._learn_q(*update, wanted, (first, last)) for update in some]
                loss = float(np.mean([lesson.loss for lesson in lessons]))
                points.append((some[-1][0] + 1, loss, self._mean_at(self.probe)))
                behind.pop().result()  # what went wrong there is raised here
                behind.append(follower.submit(self._learn_v, lessons))
            behind.pop().result()
        return points

    def _learn_q(
        self, step: int, rows: np.ndarray, wanted: np.ndarray, span: tuple[int, int]
    ) -> _Lesson:
        rate, (first, last) = self.settings.learning_rate, span
        if self.settings.decay:
            rate = regression.cosine(rate, step - first, last - first)
        rows_of_data = self.kept.take(rows)
        values = self.q.outputs(self.inputs.take(rows_of_data, axis=0))
        error = values - wanted.take(rows, axis=0)
        self.q.learn(error, rate)
        return _Lesson(rows_of_data, values, rate, float(np.vdot(error, error)) / error.size)

    def _learn_v(self, lessons: Sequence[_Lesson]) -> None:
        for lesson in lessons:
            states = self.inputs.take(lesson.rows, axis=0)[:, : self.observation_dim]
            self.v.learn(self.v.outputs(states) - lesson.values, lesson.rate)


class _Lesson(NamedTuple):
    """What Q did in one step, for V to follow."""

    rows: np.ndarray
    values: np.ndarray
    rate: float
    loss: float
