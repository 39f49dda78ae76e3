"""Scores from the behavioural critic and from transport: means over evaluated rows."""

from __future__ import annotations

import functools

import numpy as np

from rlassay.scores.registry import SCORES, Measured, ScoreSpec


def value(q):
    """E Q(s, a)."""
    return q


def advantage(q, v):
    """E[Q(s, a) - V(s)]."""
    return q - v


def performance_difference(q_random, v):
    """E[Q(s, a') - V(s)], a' random."""
    return q_random.mean(axis=1) - v


def exact(exact_integrand):
    """E c."""
    return exact_integrand


def dual(dual_integrand):
    """The dual objective at the trained potentials."""
    return dual_integrand


def sinkhorn(sinkhorn_integrand):
    """Mean transport value over anchors."""
    return sinkhorn_integrand


def tail(tail_costs, tail_epsilon, tail_lowest):
    """min over t of t + E(c - t)_+^2 / (4 epsilon)."""
    statistic = functools.partial(weighted_tail, epsilon=tail_epsilon, lowest=tail_lowest)
    return Measured(tail_costs, statistic)


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


_bwd = functools.partial(ScoreSpec, direction="higher", unit="value", relative="value")

SCORES |= {
    "q": ScoreSpec(
        value, "higher", "value", ("q",), "mean value of the recorded actions", relative="value"
    ),
    "advantage": ScoreSpec(
        advantage,
        "higher",
        "value",
        ("q", "v"),
        "value of the recorded action minus that of its state; near zero by construction",
    ),
    "pd": ScoreSpec(
        performance_difference,
        "lower",
        "value",
        ("q_random", "v"),
        "value of a random action minus that of the state; negative where behaviour beats random",
    ),
    "bwd": _bwd(
        exact,
        needs=("exact_integrand",),
        description="Bellman-Wasserstein distance by the default estimator",
    ),
    "bwd.exact": _bwd(
        exact,
        needs=("exact_integrand",),
        description="Bellman-Wasserstein distance for one action per state, in closed form",
    ),
    "bwd.dual": _bwd(
        dual,
        needs=("dual_integrand",),
        description="Bellman-Wasserstein distance by trained potentials, the paper's Algorithm 1",
    ),
    "bwd.tail": _bwd(
        tail,
        needs=("tail_costs", "tail_epsilon", "tail_lowest"),
        description="upper tail of the cost over states",
    ),
    "bwd.sinkhorn": _bwd(
        sinkhorn,
        needs=("sinkhorn_integrand",),
        description="Bellman-Wasserstein distance between the actions at neighbouring states and random ones",
        per="anchor",
    ),
}
