"""The score to expect from cloning and from offline RL, with its 80 % interval: in points, else in the file's own returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.verdict.calibration import LARGEST, POINTS, Calibration, Chosen
from rlassay.verdict.features import Features, share_worse
from rlassay.verdict.parts import best_fifth, best_tenth, return_of_best
from rlassay.verdict.reach import reachable_return

BASE = {"cloning": "return", "offline_rl": "return_by_step", "best_part": "best part"}
WORLD_LOSS = "world_loss"  # of the mean return, by a clone in a learned world
# Candidates of docs/verdict.md that need no fit, and the levels of those that do: a return of the file's own unit.
FORECASTS: dict[str, Callable[[Features, Dataset], float]] = {
    "return": lambda features, data: features.mean_return,
    "return_by_step": lambda features, data: features.return_by_step,
    "half": lambda features, data: (features.mean_return + features.return_by_step) / 2,
    "reachable": lambda features, data: min(features.return_by_step, reachable_return(data)),
    "best part": lambda features, data: return_of_best(data, best_fifth),
    "best tenth": lambda features, data: return_of_best(data, best_tenth),
}


@dataclass(frozen=True)
class Discount:
    """A candidate level x (1 - k discount): the level's name, empty for the base, and what is measured with `--refine`."""

    level: str
    measured: str

    def level_of(self, what: str) -> str:
        return self.level or BASE[what]


DISCOUNTED = {
    "conflict": Discount("", "conflict"),
    "learned world": Discount("", WORLD_LOSS),
    "percentile clone": Discount("best tenth", "best_tenth_error"),
    "best part, discounted": Discount("best part", "best_part_error"),
}


def discounted(level: Any, discount: Any, k: float, lowest: Any, highest: Any) -> Any:
    """level x (1 - k discount), never outside the observed returns; numbers or arrays of them."""
    return np.clip(level * (1 - k * discount), lowest, highest)


def measured_names(calibration: Calibration) -> list[str]:
    """What `--refine` has to measure for the forecasts of a calibration."""
    refined = calibration.refined
    names = [] if refined is None else list(refined.forecasts.values())
    return list(dict.fromkeys(DISCOUNTED[n].measured for n in names if n in DISCOUNTED))


@dataclass(frozen=True)
class Forecast:
    """One expected score: points where reference returns are known, else a return of the file's own unit."""

    value: float
    low: float
    high: float
    unit: str
    own_scale: float  # share of the file's episodes that are worse
    expected_return: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": [self.low, self.high],
            "unit": self.unit,
            "own_scale": self.own_scale,
        }


def forecast(
    what: str,
    data: Dataset,
    features: Features,
    reference: Reference | None,
    by: Chosen,
    measured: Mapping[str, float] | None = None,
) -> Forecast:
    """What cloning, offline RL or cloning the best part (`what`) is expected to reach on this file."""
    expected = _expected(what, data, features, reference, by, measured or {})
    if reference is None:
        value, half = expected, by.half_widths[LARGEST][what] * features.largest
    else:
        value, half = float(reference.normalise(expected)), by.half_widths[POINTS][what]
    unit = "return" if reference is None else "normalised score"
    worse = share_worse(data.episode_returns, expected)
    return Forecast(value, value - half, value + half, unit, worse, expected)


def _expected(
    what: str,
    data: Dataset,
    features: Features,
    reference: Reference | None,
    by: Chosen,
    measured: Mapping[str, float],
) -> float:
    """As a return. A discount is one of points; without them, one of what lies above the file's lowest return."""
    name = by.forecasts[what]
    if name not in DISCOUNTED:
        return FORECASTS[name](features, data)
    rule = DISCOUNTED[name]
    zero = features.lowest if reference is None else reference.low
    level = FORECASTS[rule.level_of(what)](features, data) - zero
    bounds = features.lowest - zero, features.highest - zero
    k = by.coefficients[what]
    return zero + float(discounted(level, measured[rule.measured], k, *bounds))


def conformal_half_width(residuals: np.ndarray, level: float = 0.8) -> float:
    """Split-conformal: the ceil(level (n + 1))-th smallest absolute residual of n, the largest where that exceeds n."""
    sizes = np.sort(np.abs(np.asarray(residuals, float)))
    place = int(np.ceil(level * (len(sizes) + 1)))
    return float(sizes[min(place, len(sizes)) - 1])
