"""How well a score tells sound episodes from faulty ones, and how well it does so among episodes of like length."""

from __future__ import annotations

import numpy as np

STRATA = 5


def area_under_curve(good: np.ndarray, bad: np.ndarray) -> float:
    """Probability that a sound episode scores above a faulty one, ties counted half (Mann and Whitney)."""
    from scipy.stats import rankdata

    if not len(good) or not len(bad):
        return float("nan")
    ranks = rankdata(np.concatenate([good, bad]))
    above = ranks[: len(good)].sum() - len(good) * (len(good) + 1) / 2
    return float(above / (len(good) * len(bad)))


def detection(goodness: np.ndarray, faulty: np.ndarray) -> float:
    """The area for one score, turned so that higher is better; an episode without a score ranks last."""
    values = _ranked_last(goodness)
    return area_under_curve(values[~faulty], values[faulty])


def stratified_detection(
    goodness: np.ndarray, faulty: np.ndarray, lengths: np.ndarray, strata: int = STRATA
) -> float:
    """The same within strata of length, averaged by their numbers of pairs; NaN where no stratum holds both kinds."""
    values, stratum = _ranked_last(goodness), strata_of(lengths, strata)
    total, pairs = 0.0, 0
    for number in np.unique(stratum):
        mine = stratum == number
        good, bad = values[mine & ~faulty], values[mine & faulty]
        weight = len(good) * len(bad)
        if weight:
            total += weight * area_under_curve(good, bad)
            pairs += weight
    return total / pairs if pairs else float("nan")


def strata_of(lengths: np.ndarray, strata: int = STRATA) -> np.ndarray:
    """Strata of about equal size; episodes of one length are never parted."""
    edges = np.unique(np.quantile(lengths, np.arange(1, strata) / strata))
    return np.searchsorted(edges, lengths, side="left")


def _ranked_last(goodness: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(goodness), -np.inf, np.asarray(goodness, np.float64))
