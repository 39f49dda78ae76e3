"""Uncertainty in NumPy float64: bootstrap over episodes, variance over seeds, correlations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

# (values of n entries, weights (..., n)) -> (...): the statistic under every row of weights
Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]
Correlation = Literal["pearson", "spearman", "kendall"]

MOST_GROUPS = 5_000  # episodes resampled at most; the variance is then scaled to all of them
BLOCK_ENTRIES = 1_000_000  # weights held at once
LEVEL = 0.95


# -- statistics of weighted values ------------------------------------------------------------------------------------


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of values (n,) under weights (..., n)."""
    return weights @ values / weights.sum(axis=-1)


def top_mean(values: np.ndarray, weights: np.ndarray, share: float = 0.1) -> np.ndarray:
    """Mean of the highest values that make up `share` of the weight; the value at the border counts in part."""
    order = np.argsort(-values, kind="stable")
    taken = np.cumsum(weights[..., order], axis=-1)
    used = np.diff(np.minimum(taken, share * taken[..., -1:]), axis=-1, prepend=0.0)
    return weighted_mean(values[order], used)


def one_at_a_time(
    statistic: Callable[[np.ndarray, np.ndarray], float], values: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Apply a statistic that knows weights (n,) only to every row of weights (..., n)."""
    rows = weights.reshape(-1, weights.shape[-1])
    return np.array([statistic(values, row) for row in rows]).reshape(weights.shape[:-1])


def clustered_error(values: np.ndarray, starts: np.ndarray) -> float:
    """Standard error of the mean of values that lie in groups, each from its start to the next; 0 for one group."""
    count = len(starts)
    if count < 2:
        return 0.0
    sizes = np.diff(np.append(starts, len(values)))
    apart = np.add.reduceat(values, starts) - values.mean() * sizes
    return float(np.sqrt((apart**2).sum() * count / (count - 1)) / len(values))


# -- bootstrap over episodes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Resampling:
    """Seeded resampling of groups (episodes): how often each is drawn in each replicate."""

    replicates: int = 400
    seed: int = 0

    def variance(
        self, samples: Sequence[tuple[np.ndarray, np.ndarray]], statistic: Statistic = weighted_mean
    ) -> tuple[float, int]:
        """Variance of the statistic's mean over `samples`, and the number of groups.

        A sample is (values, group of each value), one a seed; all share the replicates. Fewer than two groups have no
        variance: (0, count).
        """
        groups = _all_groups([group for _, group in samples])
        count = len(groups)
        if count < 2:
            return 0.0, count
        rng = np.random.default_rng([self.seed, 201])
        kept = groups
        if count > MOST_GROUPS:
            kept = np.sort(rng.choice(groups, MOST_GROUPS, replace=False))
        drawn = rng.multinomial(len(kept), np.full(len(kept), 1 / len(kept)), self.replicates)
        means = np.mean([_replicate(*sample, kept, drawn, statistic) for sample in samples], axis=0)
        unbiased = len(kept) / (len(kept) - 1)
        return float(means.var(ddof=1)) * unbiased * len(kept) / count, count


def _replicate(values, group, kept, drawn, statistic: Statistic) -> np.ndarray:
    """The statistic in each replicate; a mean needs one sum a group, anything else its weights.

    Values of groups that are not resampled keep their place with weight 0: a statistic may know more of each value.
    """
    values, counts = np.asarray(values, np.float64), drawn.astype(np.float64)
    if statistic is weighted_mean:
        sums, sizes = _sums_by_group(values, group, kept)
        return (counts @ sums) / np.maximum(counts @ sizes, 1e-300)
    place, inside = _places(group, kept)
    size = max(1, BLOCK_ENTRIES // max(values.size, 1))
    blocks = (counts[first : first + size] for first in range(0, len(counts), size))
    weights = (np.where(inside, block[:, place], 0.0) for block in blocks)
    return np.concatenate([statistic(values, _some_weight(block, inside)) for block in weights])


def _places(group: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each value's group stands among those that are kept, and whether it does."""
    place = np.minimum(np.searchsorted(kept, group), len(kept) - 1)
    return place, kept[place] == group


def _sums_by_group(
    values: np.ndarray, group: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the values of each kept group, value after value, whatever the number of transitions."""
    sums, sizes = np.zeros(len(kept)), np.zeros(len(kept))
    for first in range(0, len(values), BLOCK_ENTRIES):
        rows = slice(first, first + BLOCK_ENTRIES)
        place, inside = _places(group[rows], kept)
        np.add.at(sums, place[inside], values[rows][inside])
        sizes += np.bincount(place[inside], minlength=len(kept))
    return sums, sizes


def _all_groups(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Every group once, ascending, without sorting all entries at once."""
    parts = [
        np.unique(group[first : first + BLOCK_ENTRIES])
        for group in groups
        for first in range(0, len(group), BLOCK_ENTRIES)
    ]
    return np.unique(np.concatenate(parts))


def _some_weight(weights: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """A replicate may draw none of the groups that have values: it then counts all of them."""
    return np.where(weights.any(axis=1, keepdims=True), weights, inside.astype(np.float64))


def interval(
    per_seed: Sequence[float],
    episode_variance: float,
    groups: int,
    level: float = LEVEL,
    *,
    possible: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float] | None:
    """Mean over seeds +- t * sqrt(variance over episodes + variance over seeds / seeds), within what is possible.

    The degrees of freedom are Welch's and Satterthwaite's. None when neither episodes nor seeds vary.
    """
    from scipy.special import stdtrit

    seeds = len(per_seed)
    seed_variance = float(np.var(per_seed, ddof=1)) / seeds if seeds > 1 else 0.0
    total = episode_variance + seed_variance
    if groups < 2:
        return None
    value = float(np.mean(per_seed))
    if total <= 0:
        return value, value
    doubt = episode_variance**2 / (groups - 1) + (
        seed_variance**2 / (seeds - 1) if seeds > 1 else 0
    )
    half = float(stdtrit(total**2 / doubt, 0.5 + level / 2) * np.sqrt(total))
    low, high = np.clip((value - half, value + half), *possible)
    return float(low), float(high)


def mean_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Student's interval of the mean; None for fewer than two values."""
    from scipy.special import stdtrit

    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return None
    half = stdtrit(len(array) - 1, 0.5 + level / 2) * array.std(ddof=1) / np.sqrt(len(array))
    return float(array.mean() - half), float(array.mean() + half)


# -- correlations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A number with a bootstrap interval; `interval` is None where too few resamples were defined."""

    value: float
    interval: tuple[float, float] | None
    n: int


def correlation(x: np.ndarray, y: np.ndarray, kind: Correlation = "pearson") -> float:
    """Correlation of two equally long series; NaN when one of them is constant."""
    return float(correlations(np.asarray(x, float)[None], np.asarray(y, float)[None], kind)[0])


def resampled_indices(
    count: int, strata: np.ndarray | None, replicates: int, seed: int
) -> np.ndarray:
    """Row numbers (replicates, count), each row drawn with replacement within its stratum."""
    rng = np.random.default_rng([seed, 202])
    if strata is None:
        return rng.integers(0, count, (replicates, count))
    drawn = np.empty((replicates, count), np.int64)
    for label in np.unique(strata):
        members = np.flatnonzero(np.asarray(strata) == label)
        drawn[:, members] = members[rng.integers(0, len(members), (replicates, len(members)))]
    return drawn


def estimate(value: float, resampled: np.ndarray, n: int, level: float = LEVEL) -> Estimate:
    """A value with the percentile interval of its resamples; None where fewer than half are defined."""
    defined = resampled[np.isfinite(resampled)]
    if len(defined) < 0.5 * len(resampled):
        return Estimate(value, None, n)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, (float(low), float(high)), n)


def correlations(x: np.ndarray, y: np.ndarray, kind: Correlation) -> np.ndarray:
    """Row by row for arrays (replicates, n)."""
    if kind == "kendall":
        x, y = _signs(x), _signs(y)
    elif kind == "spearman":
        from scipy.stats import rankdata

        x, y = rankdata(x, axis=1), rankdata(y, axis=1)
    if kind != "kendall":
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    size = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    flat = size <= 1e-12 * np.maximum(1.0, np.abs(x).max(axis=1) * np.abs(y).max(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(flat, np.nan, (x * y).sum(axis=1) / size)


def _signs(values: np.ndarray) -> np.ndarray:
    """Signs of all pairwise differences: their correlation without centring is Kendall's tau-b."""
    first, second = np.triu_indices(values.shape[1], 1)
    return np.sign(values[:, first] - values[:, second])
