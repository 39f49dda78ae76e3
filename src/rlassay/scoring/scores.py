"""Every score: its formula, and what it means. In the order in which a reader meets them.

Where the numbers come from: counted ones from the file itself, `q`, `advantage` and `pd` from `rlassay.critic`, the `bwd`
family from `rlassay.transport`, the others from the small fits and counts beside this file.
"""

from __future__ import annotations

import functools

import numpy as np

from rlassay.scoring.registry import BY_SETTING, SCORES, TRANSPORT, Measured, ScoreSpec, Words
from rlassay.stats import top_mean, weighted_mean
from rlassay.transport import TransportResult

# -- rewards and returns: counted over the whole file -------------------------------------------------------------


def reward(rewards):
    """Mean of r over all transitions."""
    return rewards


def episode_return(episode_returns):
    """Mean of G over all episodes."""
    return episode_returns


def return_by_step(episode_returns, episode_lengths):
    """Mean over transitions of the return of their episode: what an agent meets that samples transitions."""
    statistic = functools.partial(mean_by_length, lengths=np.asarray(episode_lengths, np.float64))
    return Measured(np.asarray(episode_returns, np.float64), statistic)


def mean_by_length(values: np.ndarray, weights: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Mean in which every episode counts with its weight times its length."""
    return weighted_mean(values, weights * lengths)


def trajectory_quality(episode_returns, reference):
    """(mean G - low) / (high - low)."""
    low, high = reference
    return (episode_returns - low) / (high - low)


def relative_improvement(returns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(max G - mean G) / (mean G - min G): returns are shifted so that the lowest is 0; 0 when all are equal."""
    mean = weighted_mean(returns, weights)
    low = np.where(weights > 0, returns, np.inf).min(axis=-1)
    high = np.where(weights > 0, returns, -np.inf).max(axis=-1)
    above_lowest = np.where(high > low, mean - low, 1.0)
    return np.where(high > low, (high - mean) / above_lowest, 0.0)


def positive_variance(returns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of max(G - mean G, 0)^2."""
    above = np.maximum(returns - weighted_mean(returns, weights)[..., None], 0.0)
    return (weights * above**2).sum(axis=-1) / weights.sum(axis=-1)


def coverage(cells):
    """Distinct state-action cells over distinct transitions."""
    occupied, distinct = cells
    return occupied / distinct


# -- values of the behavioural critic, and transport ----------------------------------------------------------------


def value(q):
    """E Q(s, a)."""
    return q


def advantage(q, v):
    """E[Q(s, a) - V(s)]."""
    return q - v


def performance_difference(v_random, v):
    """E[Q(s, a') - V(s)], a' random; a sum over all actions where they are discrete."""
    return v_random - v


def distance(transport: TransportResult) -> Measured:
    """The transport value by the score's estimator: E c for `exact`; `rlassay.transport.ESTIMATORS` has them all."""
    return Measured(transport.sample, transport.statistic)


# -- behaviour, without rewards ---------------------------------------------------------------------------------------


def action_stochasticity(action_spread):
    """Mean standard deviation of a tanh-normal policy fitted to the data; of discrete actions, mean entropy of a law."""
    return action_spread


def cloning_error(cloning_errors):
    """Mean squared error of cloned actions on held-out episodes, of discrete ones log-loss; 1 for a policy that ignores the state."""
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


# -- what they mean -----------------------------------------------------------------------------------------------------


def _returns(title: str, meaning: str, unit: str = "return", **more) -> ScoreSpec:
    more = {"needs": ("episode_returns",), "direction": "higher", "per": "episode", **more}
    return ScoreSpec(more.pop("function", episode_return), title, meaning, unit=unit, **more)


def _distance(title: str, meaning: str, estimator: str) -> ScoreSpec:
    family = {"direction": "higher", "unit": "value", "needs": (TRANSPORT,), "per": "state"}
    return ScoreSpec(distance, title, meaning, relative="value", estimator=estimator, **family)


SCORES |= {
    "return": _returns(
        "Mean return",
        "Sum of rewards of an episode, averaged over episodes.",
        relative="return",
    ),
    "return_by_step": _returns(
        "Mean return by step",
        "Mean return with every episode counted by its length, as an agent that samples transitions meets it.",
        function=return_by_step,
        needs=("episode_returns", "episode_lengths"),
        relative="return",
    ),
    "return_top10": _returns(
        "Best tenth",
        "Mean return of the best tenth of the episodes: what the data can show.",
        statistic=top_mean,
        relative="return",
    ),
    "reward": ScoreSpec(
        reward,
        "Mean reward",
        "Reward of a transition, averaged over all transitions.",
        direction="higher",
        unit="reward",
        needs=("rewards",),
        per="transition",
    ),
    "q": ScoreSpec(
        value,
        "Behaviour value",
        "Discounted value of the recorded actions, as learned by a critic of the behaviour.",
        direction="higher",
        unit="value",
        needs=("q",),
        relative="value",
    ),
    "advantage": ScoreSpec(
        advantage,
        "Advantage",
        "Value of the recorded action minus the value of its state; near zero by construction.",
        direction="higher",
        unit="value",
        needs=("q", "v"),
    ),
    "pd": ScoreSpec(
        performance_difference,
        "Performance difference",
        "Value of random actions minus the value of the state: negative where the behaviour beats random.",
        direction="lower",
        unit="value",
        needs=("v_random", "v"),
    ),
    "bwd": _distance(
        "Bellman-Wasserstein distance",
        "Transport cost between the recorded and random actions in which the critic's value counts.",
        estimator=BY_SETTING,
    ),
    "bwd.dual": _distance(
        "BWD, dual",
        "The distance from trained potentials: the paper's Algorithm 1.",
        estimator="dual",
    ),
    "bwd.exact": _distance(
        "BWD, exact",
        "The distance at its optimum for one recorded action per state, in closed form.",
        estimator="exact",
    ),
    "bwd.tail": _distance(
        "BWD, upper tail",
        "A soft maximum of the cost over states: rewards data that contain good regions.",
        estimator="tail",
    ),
    "bwd.sinkhorn": _distance(
        "BWD, Sinkhorn",
        "The distance between the actions at neighbouring states and random ones.",
        estimator="sinkhorn",
    ),
    "tq": _returns(
        "Trajectory quality",
        "Mean return placed between the low and the high reference return.",
        unit="share of the reference range",
        function=trajectory_quality,
        needs=("episode_returns", "reference"),
    ),
    "saco": ScoreSpec(
        coverage,
        "State-action coverage",
        "Distinct cells of states and actions, as a share of the distinct transitions.",
        direction="higher",
        unit="share of distinct transitions",
        needs=("cells",),
        per="dataset",
        least=0.0,
        most=1.0,
    ),
    "eri": _returns(
        "Relative improvement",
        "How far the best return lies above the mean, relative to how far the mean lies above the worst.",
        unit="ratio",
        statistic=relative_improvement,
        least=0.0,
    ),
    "eas": ScoreSpec(
        action_stochasticity,
        "Action stochasticity",
        "Mean spread, before tanh, of a policy fitted to the recorded actions.",
        direction="higher",
        unit="standard deviation before tanh",
        needs=("action_spread",),
        least=0.0,
        discrete=Words("Mean entropy of a classifier fitted to the recorded actions.", "nats"),
    ),
    "rpsv": _returns(
        "Positive-sided variance",
        "Variance of the returns above their mean: the room for improvement.",
        unit="return^2",
        statistic=positive_variance,
        least=0.0,
    ),
    "bc_error": ScoreSpec(
        cloning_error,
        "Cloning error",
        "Squared error of a cloned policy on held-out episodes, as a share of the actions' variance.",
        direction="lower",
        unit="share of the actions' variance",
        needs=("cloning_errors",),
        per="held-out row",
        least=0.0,
        discrete=Words(
            "Log-loss of a cloned policy on held-out episodes, as a share of that of the actions' frequencies.",
            "share of the frequencies' log-loss",
        ),
    ),
    "extractable": _returns(
        "Extractable return",
        "Mean return, raised towards the better episodes where actions agree, lowered where they conflict.",
        function=extractable_return,
        needs=("episode_returns", "conflict"),
        relative="return",
        retired=True,  # it leaves the range of the observed returns, and did not predict (docs/study.md)
    ),
    "knn_entropy": ScoreSpec(
        entropy,
        "State-action entropy",
        "Nearest-neighbour entropy of the states and actions: how widely the data spread.",
        direction="higher",
        unit="nats",
        needs=("neighbour_entropy",),
        per="distinct row",
    ),
}
