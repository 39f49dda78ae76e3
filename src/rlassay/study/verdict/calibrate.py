"""The calibration: forecasts, half-widths of their intervals, ranges and datasets, from committed results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.errors import SettingsError
from rlassay.study.verdict.candidates import BASE, TARGETS, candidate_rows, choose, outcome
from rlassay.study.verdict.cases import VALUE_BASED, Case, described
from rlassay.verdict.calibration import LARGEST, POINTS, RANGED, VERSION
from rlassay.verdict.features import Features
from rlassay.verdict.forecast import FORECASTS, conformal_half_width

COMMAND = "rlassay study verdict"
EXACT = ("observation_dim", "action_dim")
SLACK = 0.1  # of the other ranges, at either end
DIGITS = 6  # significant digits of the numbers of datasets


def calibration(cases: Sequence[Case], oracle: str) -> dict[str, Any]:
    """What `rlassay.verdict.calibration` reads."""
    forecasts = chosen_forecasts(cases, oracle)
    return {
        "version": VERSION,
        "command": COMMAND,
        "oracle": described(oracle),
        "environments": list(dict.fromkeys(case.environment for case in cases)),
        "forecasts": forecasts,
        "half_widths": half_widths(cases, forecasts),
        "ranges": {name: _range(cases, name) for name in RANGED},
        "agent": best_on_average(cases),
        "datasets": [_dataset(case) for case in cases],
    }


def best_on_average(cases: Sequence[Case]) -> str:
    """The value-based agent that reached most: the one that a card's command trains."""
    means = {agent: np.mean([case.agents[agent] for case in cases]) for agent in VALUE_BASED}
    return max(means, key=lambda agent: means[agent])


def chosen_forecasts(cases: Sequence[Case], oracle: str) -> dict[str, str]:
    """By the rule of choice on the long oracle; on any other nothing is chosen and the base is the forecast."""
    if oracle != "long":
        return dict(BASE)
    chosen = {target: choose(candidate_rows(cases, target)) for target in TARGETS}
    unknown = [name for name in chosen.values() if name not in FORECASTS]
    if unknown:
        raise SettingsError(
            "the rule chooses a forecast that a scorecard cannot compute yet",
            allowed=list(FORECASTS),
            got=unknown,
            remedy="add it to rlassay.verdict.forecast",
        )
    return chosen


def expected(case: Case, name: str) -> float:
    """A forecast that needs no fit, as a return; the same numbers that a card of this dataset would have."""
    if name == "reachable":
        return min(case.row["return_by_step"], case.row["reachable"])
    return FORECASTS[name](case.features, None)  # type: ignore[arg-type]


def residuals(cases: Sequence[Case], target: str, name: str) -> dict[str, np.ndarray]:
    """Reached minus forecast, by unit: in points, and as returns in shares of the file's largest return."""
    forecast = np.array([case.points(expected(case, name)) for case in cases])
    points = outcome(cases, target) - forecast
    returns = [
        case.in_returns(reached) - expected(case, name)
        for case, reached in zip(cases, outcome(cases, target), strict=True)
    ]
    scales = [case.features.largest for case in cases]
    return {POINTS: points, LARGEST: np.array(returns) / np.array(scales)}


def half_widths(cases: Sequence[Case], forecasts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """80 % half-widths, by unit and forecast."""
    found: dict[str, dict[str, float]] = {POINTS: {}, LARGEST: {}}
    for target, name in forecasts.items():
        for unit, values in residuals(cases, target, name).items():
            found[unit][target] = _rounded(conformal_half_width(values))
    return found


def _range(cases: Sequence[Case], name: str) -> list[float]:
    """Smallest and largest; lengths and coverage a tenth wider, because those of a file are a sample."""
    values = [getattr(case.features, name) for case in cases]
    slack = 0.0 if name in EXACT else SLACK
    most = max(values) * (1 + slack)
    most = min(most, 1.0) if name == "coverage" else most
    return [_rounded(min(values) * (1 - slack)), _rounded(most)]


def _dataset(case: Case) -> dict[str, Any]:
    """One calibrated dataset: its features and what was reached on it."""
    features = case.features
    reached = case.reached
    numbers = {
        **{name: getattr(features, name) for name in Features.__dataclass_fields__},
        "return_points": case.points(features.mean_return),
        "by_step_points": case.points(features.return_by_step),
        "cloning": reached.cloning,
        "offline_rl": reached.offline_rl,
        "best": reached.best,
    }
    named = {"environment": case.environment, "dataset": case.dataset}
    rounded = {name: _rounded(value) for name, value in numbers.items()}
    return {**named, **rounded, "best_agent": case.best_agent}


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
