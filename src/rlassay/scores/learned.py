"""Scores of the behaviour alone, without rewards: how well it clones, how much it varies, how much it covers."""

from __future__ import annotations

from rlassay.scores.registry import SCORES, ScoreSpec


def action_stochasticity(action_spread):
    """Mean standard deviation of a tanh-normal policy fitted to the data."""
    return action_spread


def cloning_error(cloning_errors):
    """Mean squared error of cloned actions on held-out episodes, 1 for a policy that ignores the state."""
    return cloning_errors


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
    "knn_entropy": ScoreSpec(
        entropy,
        "higher",
        "nats",
        ("neighbour_entropy",),
        "entropy of standardised states and actions by nearest neighbours",
        per="distinct row",
    ),
}
