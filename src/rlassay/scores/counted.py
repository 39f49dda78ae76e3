"""Scores that are counted, not learned: rewards, returns, coverage. They read the whole file and nothing else."""

from __future__ import annotations

import functools

import numpy as np

from rlassay.scores.registry import SCORES, Measured, ScoreSpec
from rlassay.stats import top_mean, weighted_mean


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


_returns = functools.partial(ScoreSpec, episode_return, needs=("episode_returns",), per="episode")

SCORES |= {
    "reward": ScoreSpec(
        reward, "higher", "reward", ("rewards",), "mean reward of a transition", per="transition"
    ),
    "return": _returns(
        "higher", "return", description="mean return of an episode", relative="return"
    ),
    "return_by_step": ScoreSpec(
        return_by_step,
        "higher",
        "return",
        ("episode_returns", "episode_lengths"),
        "mean return of the episode a transition belongs to: long episodes count more",
        per="episode",
        relative="return",
    ),
    "return_top10": _returns(
        "higher",
        "return",
        description="mean return of the best tenth of the episodes",
        statistic=top_mean,
        relative="return",
    ),
    "tq": ScoreSpec(
        trajectory_quality,
        "higher",
        "share of the reference range",
        ("episode_returns", "reference"),
        "mean return between the reference returns of a random and an expert policy",
        per="episode",
    ),
    "eri": _returns(
        "higher",
        "ratio",
        description="how far the best return lies above the mean, relative to how far the mean lies above the worst",
        statistic=relative_improvement,
    ),
    "rpsv": _returns(
        "higher",
        "return^2",
        description="positive-sided variance of the returns: mean squared excess over the mean",
        statistic=positive_variance,
    ),
    "saco": ScoreSpec(
        coverage,
        "higher",
        "share of distinct transitions",
        ("cells",),
        "state-action coverage: distinct cells of a grid over distinct transitions",
        per="dataset",
    ),
}


HASH_BLOCK = 16_384  # rows hashed at once: they stay in the cache

# -- cells --------------------------------------------------------------------------------------------------------


def count_cells(
    observations: np.ndarray, actions: np.ndarray, low: np.ndarray, high: np.ndarray, bins: int
) -> tuple[int, int]:
    """Distinct cells of a grid with `bins` a dimension between low and high, and distinct transitions.

    Each row becomes one 64-bit hash, so that memory and time stay linear; two rows of a million collide with a
    probability below 1e-7.
    """
    multipliers = np.random.default_rng(20_231).integers(1, 2**63, 2 * len(low), dtype=np.uint64)
    multipliers |= np.uint64(1)
    cells = np.zeros(len(observations), np.uint64)
    exact = np.zeros(len(observations), np.uint64)
    for first in range(0, len(observations), HASH_BLOCK):
        block = slice(first, first + HASH_BLOCK)
        columns = np.concatenate([observations[block].T, actions[block].T]).astype(np.float64)
        cells[block], exact[block] = _hashes(columns, low, high, bins, multipliers)
    return len(np.unique(cells)), len(np.unique(exact))


def _hashes(columns, low, high, bins, multipliers) -> tuple[np.ndarray, np.ndarray]:
    """One word a row from its cell, and one from its exact numbers."""
    cells = np.zeros(columns.shape[1], np.uint64)
    exact = np.zeros(columns.shape[1], np.uint64)
    for k, column in enumerate(columns):
        width = (high[k] - low[k]) or 1.0
        place = np.clip((column - low[k]) * (bins / width), 0, bins - 1)
        cells = _mixed(cells + place.astype(np.uint64) * multipliers[2 * k])
        exact = _mixed(exact + (column + 0.0).view(np.uint64) * multipliers[2 * k + 1])
    return cells, exact


def _mixed(values: np.ndarray) -> np.ndarray:
    """Spread every bit over the word, so that sums of products do not collide."""
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return values ^ (values >> np.uint64(29))
