"""The same critic in a fraction of the steps: trained in stretches until its mean value has settled, in NumPy.

Each stretch has its own decay of the rate and starts from returns computed anew. Training ends when the mean value, of the
recorded and of random actions, moved little over each of the last two stretches beside its interval from episodes, and the
diagnosis on held-out episodes passes or cannot be asked; else it goes on to `critic.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rlassay.critic.diagnosis import held_out_verdict
from rlassay.critic.discrete import critic_kind
from rlassay.critic.learners import Learner, Point, learner_kind
from rlassay.critic.model import Critic, Scaling
from rlassay.critic.settings import CriticSettings
from rlassay.critic.targets import Columns, bootstrapped_returns, first_returns
from rlassay.kernel import regression
from rlassay.stats import clustered_error

SHARE_OF_INTERVAL = 0.2  # of the half-width; what the mean may move over the last stretch
SHARE_OF_DEVIATION = 0.01  # the same where one episode leaves no interval
HALF_WIDTH = 1.96  # standard errors
QUIET_STRETCHES = 2  # one after another, so that a slow creep is not taken for rest
FIRST_STRETCH = 500  # steps
OnProgress = Callable[[int, str], None]


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
    make = learner_kind(scaling)
    learners = [make(columns, scaling, settings, seed, scale) for seed in seeds]
    curve: dict[str, list] = {"step": [], "loss": [], "value": []}

    def critic() -> Critic:
        parameters = tuple(learner.parameters() for learner in learners)
        return critic_kind(scaling)(settings, tuple(seeds), scaling, parameters, *scale, curve)

    returns, before, quiet = [at_first] * len(seeds), None, 0
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
        judged = [_judged(columns, *each) for each in zip(learners, values, strict=True)]
        quiet, before = quiet + 1 if _settled(before, judged) else 0, judged
        if quiet >= QUIET_STRETCHES and held_out_verdict(now, held) is not False:
            break
        if last < settings.steps:
            returns = [bootstrapped_returns(now, k, columns, values[k]) for k in range(len(seeds))]
    return critic()


def _recentred(
    critic: Critic, learners: Sequence[Learner], returns: Sequence[np.ndarray], columns: Columns
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


class Judged(NamedTuple):
    """A mean, and by how much it may move."""

    mean: float
    allowed: float

    @classmethod
    def of(cls, values: np.ndarray, starts: np.ndarray) -> Judged:
        """Beside what episodes leave open of the mean; one episode leaves nothing open, then beside the deviation."""
        allowed = SHARE_OF_INTERVAL * HALF_WIDTH * clustered_error(values, starts)
        if len(starts) < 2:
            allowed = SHARE_OF_DEVIATION * float(values.std())
        return cls(float(values.mean()), allowed)


def _judged(columns: Columns, learner: Learner, values: np.ndarray) -> tuple[Judged, Judged]:
    """Of the recorded actions, and of random ones: `q` and `bwd` are made of them."""
    random = Judged.of(learner.random_values(), learner.probe_starts)
    return Judged.of(values, columns.starts), random


def _settled(
    before: Sequence[tuple[Judged, Judged]] | None, after: Sequence[tuple[Judged, Judged]]
) -> bool:
    """Whether the means, of every seed, moved little over the last stretch."""
    if before is None:
        return False
    return all(
        abs(new.mean - old.mean) <= new.allowed
        for olds, news in zip(before, after, strict=True)
        for old, new in zip(olds, news, strict=True)
    )
