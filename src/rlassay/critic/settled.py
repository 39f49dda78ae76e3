"""The same critic in a fraction of the steps: trained in stretches until its mean value has settled, in NumPy.

Each stretch has its own decay of the rate and starts from returns computed anew. Training ends when the mean value, of the
recorded and of random actions, moved little over the last stretch beside its interval from episodes, and the diagnosis on
held-out episodes passes or cannot be asked; else it goes on to `critic.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
