"""What the forecast was calibrated on: one committed JSON, made by `rlassay study verdict`, read without JAX."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from rlassay.verdict.features import Features

VERSION = 1
# Features whose calibrated range a file must not leave, and how a sentence names them.
RANGED = {
    "observation_dim": "observations of {} dimensions",
    "action_dim": "actions of {} dimensions",
    "longest": "a longest episode of {} steps",
    "mean_length": "episodes of {} steps on average",
    "coverage": "a coverage of {}",
}
ROUNDING = 1e-9  # relative
MOST_DIGITS = 6  # behind those that a number usually has
POINTS, LARGEST = "points", "share of the largest return"  # units of the half-widths


@dataclass(frozen=True)
class Chosen:
    """Which candidate is the forecast of what, and how wide its intervals are."""

    forecasts: Mapping[str, str]  # of `cloning`, `offline_rl`; of `best_part`, `best` where known
    half_widths: Mapping[str, Mapping[str, float]]  # by unit, then by forecast
    coefficients: Mapping[str, float] = field(default_factory=dict)  # of what has a fitted one


@dataclass(frozen=True)
class Calibration:
    """What was chosen and how wide its intervals are, and the datasets behind them."""

    oracle: str  # on which it was made
    environments: tuple[str, ...]
    forecasts: Mapping[str, str]  # names of `rlassay.verdict.forecast.FORECASTS`
    half_widths: Mapping[str, Mapping[str, float]]
    ranges: Mapping[str, Sequence[float]]
    agent: str  # the value-based agent that reached most on average
    datasets: Sequence[Mapping[str, Any]]
    version: int = VERSION
    refined: Chosen | None = (
        None  # what a card goes by with `--refine`, where the rule chose something else
    )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Calibration:
        known = {name: content[name] for name in cls.__dataclass_fields__ if name != "refined"}
        refined = content.get("refined")
        return cls(
            **{**known, "environments": tuple(known["environments"])},
            refined=None if refined is None else Chosen(**refined),
        )

    def chosen(self, measured: Mapping[str, float] | None) -> Chosen:
        """What a card goes by: the refined choice where everything that it reads was measured."""
        if measured and self.refined is not None:
            return self.refined
        return Chosen(self.forecasts, self.half_widths)


@functools.lru_cache(maxsize=1)
def packaged() -> Calibration:
    """The calibration that comes with this version."""
    text = (files("rlassay.verdict") / "calibration.json").read_text()
    return Calibration.from_dict(json.loads(text))


def outside(calibration: Calibration, features: Features, discrete: bool) -> list[str]:
    """What of the file lies outside the calibrated range, each as half a sentence."""
    found = ["discrete actions (calibrated: continuous ones)"] if discrete else []
    for name, sentence in RANGED.items():
        low, high = calibration.ranges[name]
        value = getattr(features, name)
        if not low <= value <= high:
            told, least, most = _numbers(value, low, high)
            found.append(f"{sentence.format(told)} (calibrated: {least} to {most})")
    return found


def _numbers(value: float, low: float, high: float) -> list[str]:
    """In as few digits as tell the value from the bounds."""
    told: list[str] = []
    for more in range(MOST_DIGITS):
        told = [_number(each, more) for each in (value, low, high)]
        if told[0] not in told[1:]:
            break
    return told


def _number(value: float, more: int) -> str:
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{2 + more}f}" if abs(value) < 2 else f"{value:,.{more}f}"


def nearest(
    calibration: Calibration,
    features: Features,
    points: tuple[float, float] | None,
    env_id: str | None = None,
) -> Mapping[str, Any]:
    """The calibrated dataset most like the file: shape and lengths, spread of the returns, and their level if known.

    Without points the level is known where the task itself was calibrated on: returns of one task are one scale.
    """
    rows = calibration.datasets
    distances = _distances([_shape(_features(row)) for row in rows], _shape(features))
    of_task = np.array([row["environment"] == env_id for row in rows])
    if points is not None:
        levels = [(row["return_points"], row["by_step_points"]) for row in rows]
        distances += _distances(levels, points)
    elif of_task.any():
        levels = [
            (row["mean_return"], row["return_by_step"])
            for row in rows
            if row["environment"] == env_id
        ]
        distances[of_task] += _distances(levels, (features.mean_return, features.return_by_step))
        distances[~of_task] = np.inf
    return rows[int(distances.argmin())]


def _distances(known: Sequence[Sequence[float]], mine: Sequence[float]) -> np.ndarray:
    """Squared, every coordinate in units of its spread among the known ones."""
    places = np.array(known)
    spread, size = places.std(axis=0), np.abs(places).max(axis=0)
    equal = spread <= ROUNDING * size  # of equal numbers it is rounding, and would swamp the others
    apart = (places - np.array(mine)) / np.where(equal, 1.0, spread)
    return (apart**2).sum(axis=1)


def _features(row: Mapping[str, Any]) -> Features:
    return Features(**{name: row[name] for name in Features.__dataclass_fields__})


def _shape(features: Features) -> list[float]:
    """Scale-free coordinates, so that other units of reward change nothing."""
    scale = features.largest or 1.0
    span = (features.highest - features.lowest) or 1.0
    return [
        float(np.log(features.observation_dim)),
        float(np.log(features.action_dim)),
        float(np.log(features.mean_length)),
        features.coverage,
        features.deviation / scale,
        (features.mean_return - features.lowest) / span,
        (features.return_by_step - features.mean_return) / scale,
    ]
