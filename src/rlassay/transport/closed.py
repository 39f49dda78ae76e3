"""The result of every estimator, and the two without training: `exact`, the product coupling, and `tail`, an upper
tail over states. The tail functional has its one home here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlassay.errors import SolverError
from rlassay.stats import Statistic, weighted_mean
from rlassay.transport.costs import resolve_cost
from rlassay.transport.settings import TransportSettings, cost_scale, resolve_epsilon


@dataclass(frozen=True)
class TransportResult:
    """A transport value with what is needed to judge it.

    `integrand` has one entry an evaluated state, `rows` names the states' rows; the mean of the integrand is `value`.
    The sign of the cost is applied: for cost `sup` value and integrand are minus the transport's.
    """

    value: float
    estimator: str
    cost: str
    epsilon: float  # absolute, as used
    n: int  # evaluated states
    converged: bool | None
    integrand: np.ndarray
    rows: np.ndarray | None = None
    diagnosis: Mapping[str, Any] = field(default_factory=dict)  # JSON values
    curve: Mapping[str, list] = field(default_factory=dict)  # `step` and `value` while training
    statistic: Statistic = weighted_mean  # under resampled weights, of `sample`
    costs: np.ndarray | None = None  # signed, (n, k), where the statistic is of costs

    @property
    def sample(self) -> np.ndarray:
        """What the value is the statistic of, one entry a state."""
        return self.integrand if self.costs is None else self.costs


def restored_constant(settings: TransportSettings, epsilon: float) -> float:
    """What is added to the literal dual value, so that its optimum for one action per state is the mean cost."""
    return epsilon if settings.regulariser == "entropic" else -epsilon


def exact(
    costs: np.ndarray, settings: TransportSettings, rows: np.ndarray | None = None
) -> TransportResult:
    """The optimum for one action per state, E c, from costs (n,) or (n, k).

    With one data action per state the product is the only coupling, so no potentials are needed.
    """
    costs = _by_state(costs)
    sign = resolve_cost(settings).sign
    epsilon = resolve_epsilon(settings, costs)
    integrand = mean_cost(sign * costs)
    value = float(integrand.mean())
    diagnosis = {
        "cost_sd": cost_scale(costs),
        "literal": value - sign * restored_constant(settings, epsilon),
    }
    return TransportResult(
        value, "exact", settings.cost, epsilon, len(costs), None, integrand, rows, diagnosis
    )


def tail(
    costs: np.ndarray, settings: TransportSettings, rows: np.ndarray | None = None
) -> TransportResult:
    """min over t of t + E(c-t)_+^2 / (4 epsilon) of the signed costs (n,) or (n, k); no constant is added.

    With non-positive potentials the threshold t is at least 0, as in the public implementation.
    """
    costs = resolve_cost(settings).sign * _by_state(costs)
    epsilon = resolve_epsilon(settings, costs)
    lowest = 0.0 if settings.potentials == "non_positive" else None
    threshold = tail_threshold(costs, epsilon, lowest)
    integrand = tail_integrand(costs, threshold, epsilon)
    diagnosis = {
        "threshold": threshold,
        "share_above": float((costs > threshold).mean()),
        "mean_cost": float(costs.mean()),
        "cost_sd": cost_scale(costs),
    }
    return TransportResult(
        value=float(integrand.mean()),
        estimator="tail",
        cost=settings.cost,
        epsilon=epsilon,
        n=len(costs),
        converged=True,
        integrand=integrand,
        rows=rows,
        diagnosis=diagnosis,
        statistic=functools.partial(weighted_tail, epsilon=epsilon, lowest=lowest),
        costs=costs,
    )


def mean_cost(costs: np.ndarray) -> np.ndarray:
    """What `exact` averages over states: the mean of the signed costs (n, k) of each."""
    return costs.mean(axis=1)


def tail_integrand(costs: np.ndarray, threshold: float, epsilon: float) -> np.ndarray:
    """What `tail` averages over states: t + (c-t)_+^2 / (4 epsilon) of signed costs (n, k)."""
    excess = np.maximum(costs - threshold, 0)
    return threshold + (excess**2).mean(axis=1) / (4 * epsilon)


def tail_threshold(costs: np.ndarray, epsilon: float, lowest: float | None = None) -> float:
    """The t at which E(c - t)_+ = 2 epsilon, by bisection to the last bit; at least `lowest` if given."""
    low, high = float(costs.mean()) - 2 * epsilon, float(costs.max())
    middle = low + (high - low) / 2
    while low < middle < high:
        if np.maximum(costs - middle, 0).mean() > 2 * epsilon:
            low = middle
        else:
            high = middle
        middle = low + (high - low) / 2
    return middle if lowest is None else max(middle, lowest)


def weighted_tail(
    costs: np.ndarray, weights: np.ndarray, *, epsilon: float, lowest: float | None = None
) -> np.ndarray:
    """The tail functional of costs (n, k) whose rows carry weights (..., n).

    E(c - t)_+ is piecewise linear and falls with t, so the t at which it equals 2 epsilon follows from running sums
    over the costs in falling order. `lowest` bounds t from below.
    """
    k = costs.shape[1]
    centre = costs.mean()  # sums of squares lose no digits around it
    order = np.argsort(-costs, axis=None, kind="stable")
    c = costs.ravel()[order] - centre
    w = (weights / (k * weights.sum(axis=-1, keepdims=True)))[..., order // k]
    mass, first = np.cumsum(w, axis=-1), np.cumsum(w * c, axis=-1)
    excess = first - mass * c  # E(c - t)_+ at t = each cost, rising along the order
    used = np.maximum((excess < 2 * epsilon).sum(axis=-1, keepdims=True) - 1, 0)
    mass_used = np.take_along_axis(mass, used, -1)
    reached = np.take_along_axis(first, used, -1) - 2 * epsilon
    threshold = reached / np.where(mass_used > 0, mass_used, 1.0)
    if lowest is not None:
        threshold = np.maximum(threshold, lowest - centre)
    over = np.maximum(c - threshold, 0.0)
    return threshold[..., 0] + centre + (w * over**2).sum(axis=-1) / (4 * epsilon)


def _by_state(costs: np.ndarray) -> np.ndarray:
    costs = np.asarray(costs, np.float64)
    if costs.size == 0 or not np.isfinite(costs).all():
        raise SolverError("the costs are empty or not finite", remedy="check the critic's values")
    return costs.reshape(len(costs), -1)
