"""The score to expect from cloning and from offline RL, with its 80 % interval: in points, else in the file's own returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.verdict.calibration import LARGEST, POINTS, Calibration
from rlassay.verdict.features import Features, share_worse
from rlassay.verdict.reach import reachable_return

# Candidates of docs/verdict.md that need no fit, by name: a return of the file's own unit.
FORECASTS: dict[str, Callable[[Features, Dataset], float]] = {
    "return": lambda features, data: features.mean_return,
    "return_by_step": lambda features, data: features.return_by_step,
    "half": lambda features, data: (features.mean_return + features.return_by_step) / 2,
    "reachable": lambda features, data: min(features.return_by_step, reachable_return(data)),
}


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
    what: str, data: Dataset, features: Features, reference: Reference | None, by: Calibration
) -> Forecast:
    """What cloning or offline RL (`what`) is expected to reach on this file."""
    expected = FORECASTS[by.forecasts[what]](features, data)
    if reference is None:
        value, half = expected, by.half_widths[LARGEST][what] * features.largest
    else:
        value, half = float(reference.normalise(expected)), by.half_widths[POINTS][what]
    unit = "return" if reference is None else "normalised score"
    worse = share_worse(data.episode_returns, expected)
    return Forecast(value, value - half, value + half, unit, worse, expected)


def conformal_half_width(residuals: np.ndarray, level: float = 0.8) -> float:
    """Split-conformal: the ceil(level (n + 1))-th smallest absolute residual of n, the largest where that exceeds n."""
    sizes = np.sort(np.abs(np.asarray(residuals, float)))
    place = int(np.ceil(level * (len(sizes) + 1)))
    return float(sizes[min(place, len(sizes)) - 1])
