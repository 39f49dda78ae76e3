"""The two estimators without training: `exact`, the product coupling, and `tail`, an upper tail over states."""

from __future__ import annotations

import numpy as np

from rlassay.errors import SolverError
from rlassay.transport.costs import resolve_cost
from rlassay.transport.result import TransportResult
from rlassay.transport.settings import TransportSettings, cost_scale, resolve_epsilon


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
    integrand = sign * costs.mean(axis=1)
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
    excess = np.maximum(costs - threshold, 0)
    integrand = threshold + (excess**2).mean(axis=1) / (4 * epsilon)
    diagnosis = {
        "threshold": threshold,
        "share_above": float((excess > 0).mean()),
        "mean_cost": float(costs.mean()),
        "cost_sd": cost_scale(costs),
    }
    return TransportResult(
        float(integrand.mean()), "tail", settings.cost, epsilon, len(costs), True, integrand, rows,
        diagnosis,
    )  # fmt: skip


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


def _by_state(costs: np.ndarray) -> np.ndarray:
    costs = np.asarray(costs, np.float64)
    if costs.size == 0 or not np.isfinite(costs).all():
        raise SolverError("the costs are empty or not finite", remedy="check the critic's values")
    return costs.reshape(len(costs), -1)
