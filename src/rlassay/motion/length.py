"""Scores that follow the length of episodes, and what is left of them when length is taken out."""

from __future__ import annotations

import numpy as np

MOST = 1_500  # episodes whose pairs give the slope


def adjust_for_length(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What a score says beyond the length of the episode, in the score's own unit.

    The slope on the logarithm of the length is Theil and Sen's: the median over pairs of episodes, which goes with
    Kendall's rank correlation and is not moved by less than 29 % of outliers. An episode of median length keeps its
    value. Equal lengths, or fewer than five known values: nothing changes. Fails where a score follows length in a bent
    curve; the part beyond the straight line stays in.
    """
    values, lengths = np.asarray(values, np.float64), np.asarray(lengths, np.float64)
    known = np.flatnonzero(np.isfinite(values))
    logarithm = np.log(np.maximum(lengths, 1.0))
    if len(known) < 5 or np.ptp(logarithm[known]) == 0:
        return values.copy()
    from scipy.stats import theilslopes

    some = known[np.linspace(0, len(known) - 1, min(MOST, len(known))).round().astype(int)]
    if np.ptp(logarithm[some]) == 0:
        return values.copy()
    with np.errstate(
        invalid="ignore"
    ):  # its interval, which is not used, fails where most values are equal
        slope, *_ = theilslopes(values[some], logarithm[some])
    return values - np.asarray(slope) * (logarithm - np.median(logarithm[known]))
