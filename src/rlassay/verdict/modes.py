"""Do the returns of a dataset have one mode or several? The best cut in two, and how clean it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CLEAN = 3.0  # distance of the two means in pooled deviations (Ashman's D); 2 is where modes begin to separate
SMALLEST_SHARE = 0.1  # of the episodes, in the smaller mode
LARGEST_VALLEY = 0.05  # of the episodes, in the middle third between the two means: a flat spread has a sixth there
FEWEST = 10  # episodes in all
FEWEST_IN_A_MODE = (
    10  # a handful of episodes apart is chance: one policy cut in two is about as clean
)


@dataclass(frozen=True)
class Modes:
    """The best cut of the returns in two: below `cut` and above."""

    several: bool  # two groups, of which the smaller has a tenth of the episodes
    apart: bool  # two groups, whatever their shares
    cut: float
    separation: float  # Ashman's D
    lower_share: float
    lower_mean: float
    upper_mean: float
    valley_share: float  # of the episodes, in the middle third between the two means


def modes_of(returns: np.ndarray) -> Modes | None:
    """Cut where the variance between the two sides is largest (Otsu); None for few or equal returns."""
    values = np.sort(np.asarray(returns, np.float64))
    count = len(values)
    if count < FEWEST or values[0] == values[-1]:
        return None
    below = np.arange(1, count)
    sums = np.cumsum(values)[:-1]
    lower, upper = sums / below, (values.sum() - sums) / (count - below)
    between = below * (count - below) * (upper - lower) ** 2
    between[values[1:] == values[:-1]] = -np.inf  # equal returns stay together
    k = int(between.argmax())
    separation = ashman(values[: k + 1], values[k + 1 :])
    share = (k + 1) / count
    third = (upper[k] - lower[k]) / 3
    valley = float(np.mean((values > lower[k] + third) & (values < upper[k] - third)))
    clean = separation >= CLEAN and valley <= LARGEST_VALLEY
    smaller = min(k + 1, count - k - 1)
    apart = bool(clean and smaller >= FEWEST_IN_A_MODE)
    several = apart and smaller >= SMALLEST_SHARE * count
    cut = float((values[k] + values[k + 1]) / 2)
    return Modes(several, apart, cut, separation, share, float(lower[k]), float(upper[k]), valley)


def ashman(lower: np.ndarray, upper: np.ndarray) -> float:
    """sqrt(2) |difference of means| / sqrt(sum of variances); large, not infinite, for two points."""
    spread = np.sqrt(lower.var() + upper.var())
    distance = abs(upper.mean() - lower.mean())
    return float(np.sqrt(2) * distance / max(spread, 1e-3 * distance))
