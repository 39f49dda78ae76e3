"""The calibration: forecasts, half-widths of their intervals, ranges and datasets, from committed results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.study import worlds
from rlassay.study.verdict.candidates import (
    base,
    chosen,
    coefficient,
    left_out,
    may_choose,
    outcome,
)
from rlassay.study.verdict.cases import VALUE_BASED, Case, described
from rlassay.verdict.calibration import LARGEST, POINTS, RANGED, VERSION
from rlassay.verdict.features import Features
from rlassay.verdict.forecast import DISCOUNTED, conformal_half_width

COMMAND = "rlassay study verdict"
EXACT = ("observation_dim", "action_dim")
SLACK = 0.1  # of the other ranges, at either end
DIGITS = 6  # significant digits of the numbers of datasets


def calibration(cases: Sequence[Case], oracle: str) -> dict[str, Any]:
    """What `rlassay.verdict.calibration` reads."""
    forecasts = chosen_forecasts(cases)
    made = {
        "version": VERSION,
        "command": COMMAND,
        "oracle": described(oracle) + _shorter(cases),
        "environments": list(dict.fromkeys(case.environment for case in cases)),
        "forecasts": forecasts,
        "half_widths": half_widths(cases, forecasts),
        "ranges": {name: _range(cases, name) for name in RANGED},
        "agent": best_on_average(cases),
        "datasets": [_dataset(case) for case in cases],
    }
    refined = chosen_forecasts(cases, refined=True)
    return made if refined == forecasts else {**made, "refined": _refined(cases, refined)}


def _shorter(cases: Sequence[Case]) -> str:
    """The budget of the other worlds, where they are used."""
    used = any(case.environment in worlds.STEPS for case in cases)
    return f" ({worlds.UPDATES:,} on smaller tasks)" if used else ""


def _refined(cases: Sequence[Case], forecasts: Mapping[str, str]) -> dict[str, Any]:
    """What a card with `--refine` goes by."""
    fitted = {target: name for target, name in forecasts.items() if name in DISCOUNTED}
    return {
        "forecasts": dict(forecasts),
        "half_widths": half_widths(cases, forecasts),
        "coefficients": {t: _rounded(coefficient(cases, t, name)) for t, name in fitted.items()},
    }


def best_on_average(cases: Sequence[Case]) -> str:
    """The value-based agent that reached most, where all were trained: the one that a card's command trains."""
    whole = [case for case in cases if all(agent in case.agents for agent in VALUE_BASED)]
    means = {agent: np.mean([case.agents[agent] for case in whole]) for agent in VALUE_BASED}
    return max(means, key=lambda agent: means[agent])


def chosen_forecasts(cases: Sequence[Case], refined: bool = False) -> dict[str, str]:
    """By the rule of choice where it may be applied; else the base is the forecast."""
    return chosen(cases, refined) if may_choose(cases) else base()


def residuals(cases: Sequence[Case], target: str, name: str) -> dict[str, np.ndarray]:
    """Reached minus forecast with the environment left out, by unit: in points, and as returns in shares of the file's
    largest return. Cases on which the target was not trained are left out."""
    judged = [case for case in cases if getattr(case.reached, target) is not None]
    forecast, reached = left_out(judged, target, name), outcome(judged, target)
    returns = [
        case.in_returns(after) - case.in_returns(before)
        for case, after, before in zip(judged, reached, forecast, strict=True)
    ]
    scales = [case.features.largest for case in judged]
    return {POINTS: reached - forecast, LARGEST: np.array(returns) / np.array(scales)}


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
