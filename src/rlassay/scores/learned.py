"""Scores of the behaviour alone, without rewards: how well it clones, how much it varies, how much it covers."""

from __future__ import annotations

import functools

import numpy as np

from rlassay.scores.registry import SCORES, Measured, ScoreSpec
from rlassay.stats import weighted_mean


def action_stochasticity(action_spread):
    """Mean standard deviation of a tanh-normal policy fitted to the data."""
    return action_spread


def cloning_error(cloning_errors):
    """Mean squared error of cloned actions on held-out episodes, 1 for a policy that ignores the state."""
    return cloning_errors


def extractable_return(episode_returns, conflict):
    """Mean return plus (1 - 2 conflict) standard deviations of the returns."""
    returns = np.asarray(episode_returns, np.float64)
    return Measured(returns, functools.partial(mean_and_spread, lift=1 - 2 * conflict))


def mean_and_spread(values: np.ndarray, weights: np.ndarray, lift: float) -> np.ndarray:
    """Weighted mean + lift * weighted standard deviation."""
    mean = weighted_mean(values, weights)
    squares = weighted_mean((values - values.mean()) ** 2, weights)
    variance = squares - (mean - values.mean()) ** 2
    return mean + lift * np.sqrt(np.maximum(variance, 0.0))


def entropy(neighbour_entropy):
    """Kozachenko and Leonenko's entropy of states and actions."""
    return neighbour_entropy


SCORES |= {
    "eas": ScoreSpec(
        action_stochasticity,
        "higher",
        "standard deviation before tanh",
        ("action_spread",),
        "estimated action stochasticity: mean spread of a tanh-normal policy fitted to the data",
    ),
    "bc_error": ScoreSpec(
        cloning_error,
        "lower",
        "share of the actions' variance",
        ("cloning_errors",),
        "squared error of cloned actions on held-out episodes, relative to the actions' variance",
        per="held-out row",
    ),
    "extractable": ScoreSpec(
        extractable_return,
        "higher",
        "return",
        ("episode_returns", "conflict"),
        "mean return, raised towards the better episodes where actions agree and lowered where they conflict",
        per="episode",
        relative="return",
    ),
    "knn_entropy": ScoreSpec(
        entropy,
        "higher",
        "nats",
        ("neighbour_entropy",),
        "entropy of standardised states and actions by nearest neighbours",
        per="distinct row",
    ),
}
