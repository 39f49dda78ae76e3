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
) -> float:
    """The tail functional of costs (n, k) whose rows carry weights (n,).

    E(c - t)_+ is convex, piecewise linear and falls with t, so Newton's iteration from below reaches the t at which it
    equals 2 epsilon in finitely many steps. `lowest` bounds t from below.
    """
    shares = np.repeat(weights / (weights.sum() * costs.shape[1]), costs.shape[1])
    flat = costs.ravel()
    threshold, following = -np.inf, shares @ flat - 2 * epsilon
    while following > threshold:
        threshold = following
        above = flat > threshold
        mass = shares[above].sum()
        following = (shares[above] @ flat[above] - 2 * epsilon) / mass if mass > 0 else threshold
    threshold = threshold if lowest is None else max(threshold, lowest)
    return float(threshold + shares @ np.maximum(flat - threshold, 0.0) ** 2 / (4 * epsilon))


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
