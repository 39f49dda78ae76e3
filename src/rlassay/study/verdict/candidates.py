"""Candidates for the forecast and the rule of choice, as docs/verdict.md fixed them before the long oracle was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import MIXTURES
from rlassay.study.verdict.cases import Case

TARGETS: tuple[str, ...] = ("cloning", "offline_rl")
BASE = {"cloning": "return", "offline_rl": "return_by_step"}
MARGIN = 0.05  # by which a later candidate has to be better than an earlier one
Forecaster = Callable[[Sequence[Case], Sequence[Case]], np.ndarray]  # (others, judged) -> points


def outcome(cases: Sequence[Case], target: str) -> np.ndarray:
    """What was reached, in points."""
    return np.array([getattr(case.reached, target) for case in cases])


def feature(cases: Sequence[Case], name: str) -> np.ndarray:
    """A return among the features, in points."""
    return np.array([case.points(case.row[name]) for case in cases])


def base(cases: Sequence[Case], target: str) -> np.ndarray:
    """The number itself as the forecast."""
    return feature(cases, {"return": "mean_return"}.get(BASE[target], BASE[target]))


def candidates(target: str) -> dict[str, Forecaster]:
    """Every candidate for one target, in the order of the page; the learned world waits for its feature."""
    found: dict[str, Forecaster] = {
        BASE[target]: lambda others, judged: base(judged, target),
        "half": lambda others, judged: (
            (feature(judged, "mean_return") + feature(judged, "return_by_step")) / 2
        ),
        "reachable": lambda others, judged: np.minimum(
            feature(judged, "return_by_step"), feature(judged, "reachable")
        ),
        "conflict": lambda others, judged: _discounted(
            others, judged, target, lambda cases: base(cases, target), "conflict"
        ),
    }
    if target == "offline_rl":
        found["percentile clone"] = lambda others, judged: _discounted(
            others, judged, target, lambda cases: feature(cases, "best_tenth"), "best_tenth_error"
        )
    return found


def _discounted(
    others: Sequence[Case],
    judged: Sequence[Case],
    target: str,
    level: Callable[[Sequence[Case]], np.ndarray],
    discount: str,
) -> np.ndarray:
    """level x (1 - k discount) with k fitted on the other environments; never outside the observed returns."""
    k = fitted_share(level(others), _plain(others, discount), outcome(others, target))
    forecast = level(judged) * (1 - k * _plain(judged, discount))
    return np.clip(forecast, feature(judged, "lowest"), feature(judged, "highest"))


def _plain(cases: Sequence[Case], name: str) -> np.ndarray:
    return np.array([case.row[name] for case in cases], float)


def fitted_share(level: np.ndarray, discount: np.ndarray, reached: np.ndarray) -> float:
    """Least squares of reached = level (1 - k discount) over k, within 0 and 1."""
    slope = level * discount
    total = float((slope**2).sum())
    return float(np.clip((slope * (level - reached)).sum() / total, 0.0, 1.0)) if total else 0.0


def left_out(cases: Sequence[Case], forecaster: Forecaster) -> np.ndarray:
    """Every case forecast by what was fitted on the other environments, in the order of the cases."""
    forecasts = np.zeros(len(cases))
    environments = np.array([case.environment for case in cases])
    for environment in np.unique(environments):
        inside = environments == environment
        others = [case for case, mine in zip(cases, inside, strict=True) if not mine]
        judged = [case for case, mine in zip(cases, inside, strict=True) if mine]
        forecasts[inside] = forecaster(others, judged)
    return forecasts


def candidate_rows(cases: Sequence[Case], target: str) -> list[Row]:
    """Root mean squared error of every candidate over the mixtures, environments left out in turn."""
    voting = [case for case in cases if case.dataset in MIXTURES]
    reached = outcome(voting, target)
    return [
        {
            "target": target,
            "candidate": name,
            "n": len(voting),
            "rmse": float(np.sqrt(np.mean((left_out(voting, forecaster) - reached) ** 2))),
        }
        for name, forecaster in candidates(target).items()
    ]


def choose(rows: Sequence[Row]) -> str:
    """The smallest error; a later candidate has to be better than an earlier one by 5 %."""
    best = rows[0]
    for row in rows[1:]:
        if row["rmse"] < (1 - MARGIN) * best["rmse"]:
            best = row
    return best["candidate"]
