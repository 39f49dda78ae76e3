"""How far the verdict holds, with environments left out in turn: errors, coverage, labels and the regret of its advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rlassay.stats import correlation
from rlassay.study.analysis.reliability import ceiling, reliability_over_agents
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import FRESH_MIXTURES, MIXTURES, PANELS
from rlassay.study.verdict.calibrate import best_on_average, expected, residuals
from rlassay.study.verdict.candidates import TARGETS, outcome
from rlassay.study.verdict.cases import CLONE, VALUE_BASED, Case
from rlassay.verdict.calibration import LARGEST, POINTS
from rlassay.verdict.forecast import conformal_half_width
from rlassay.verdict.labels import Reached, action_of, label_of, regret

LEVEL = 0.8
MEAN_RETURN = "return"
LABELS = ("near-random", "weak", "mixed", "consistent", "expert-like")
Forecasts = Mapping[str, str]  # target -> name of the forecast


def panels(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """All datasets, all mixtures, those of the first study and those made to test it."""
    parts = {
        "all": [case.dataset for case in cases],
        "mixtures": MIXTURES,
        "first mixtures": PANELS["mixtures"],
        "fresh mixtures": FRESH_MIXTURES,
    }
    found = {name: [c for c in cases if c.dataset in members] for name, members in parts.items()}
    return {name: part for name, part in found.items() if part}


# -- the forecast ------------------------------------------------------------------------------------------------------


def error_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """The forecast, and the mean return in its place: error in points, correlation, and the ceiling of the latter."""
    rows = []
    for panel, part in panels(cases).items():
        for target in TARGETS:
            for name in dict.fromkeys((forecasts[target], MEAN_RETURN)):
                rows.append({"panel": panel, "target": target, **_error(part, target, name)})
    return rows


def _error(cases: Sequence[Case], target: str, name: str) -> Row:
    forecast, reached = forecast_points(cases, name), outcome(cases, target)
    return {
        "forecast": name,
        "n": len(cases),
        "rmse": float(np.sqrt(np.mean((forecast - reached) ** 2))),
        "bias": float(np.mean(forecast - reached)),
        "pearson": correlation(forecast, reached),
        "ceiling": _ceiling(cases, target),
    }


def forecast_points(cases: Sequence[Case], name: str) -> np.ndarray:
    """What a card would forecast, in points."""
    return np.array([case.points(expected(case, name)) for case in cases])


def _ceiling(cases: Sequence[Case], target: str) -> float | None:
    """Of the mean of five agents by their halves; one agent with one seed has no halves."""
    if target == "cloning":
        return None
    reached = np.array([[case.agents[agent] for case in cases] for agent in VALUE_BASED])
    return ceiling(reliability_over_agents(reached))


def coverage_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """How often the 80 % interval holds in an environment that it was not made on, with an exact binomial interval."""
    environments = np.array([case.environment for case in cases])
    rows = []
    for unit in (POINTS, LARGEST):
        for target in TARGETS:
            errors = residuals(cases, target, forecasts[target])[unit]
            for environment in dict.fromkeys(case.environment for case in cases):
                inside = environments == environment
                half = conformal_half_width(errors[~inside], LEVEL)
                hit = int((np.abs(errors[inside]) <= half).sum())
                row = {"unit": unit, "target": target, "left_out": environment, "half_width": half}
                rows.append(row | covered(hit, int(inside.sum())))
    return rows


def covered(hit: int, n: int) -> Row:
    """A share with its 95 % interval, and whether it lies below 80 % for certain."""
    from scipy.stats import binomtest

    found = binomtest(hit, n).proportion_ci(0.95, method="exact")
    low, high = float(found.low), float(found.high)
    below = "yes" if high < LEVEL else "no"
    return {"n": n, "covered": hit / n, "low": low, "high": high, "below": below}


# -- labels ------------------------------------------------------------------------------------------------------------


def forecast_reached(case: Case, forecasts: Forecasts) -> Reached:
    """What label and advice of a card go by, in points."""
    both = [case.points(expected(case, forecasts[target])) for target in TARGETS]
    return Reached(both[0], both[1], max(both))


def confusion_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """One row a label by outcome, one column a label by forecast."""
    pairs = [
        (
            label_of(case.reached, case.several_modes),
            label_of(forecast_reached(case, forecasts), case.several_modes),
        )
        for case in cases
    ]
    return [
        {"outcome": actual, **{label: pairs.count((actual, label)) for label in LABELS}}
        for actual in LABELS
    ]


def label_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """Every dataset with both labels, the forecasts and the outcome."""
    rows = []
    for case in cases:
        told, reached = forecast_reached(case, forecasts), case.reached
        label = label_of(told, case.several_modes)
        rows.append(
            {
                "environment": case.environment,
                "dataset": case.dataset,
                "forecast_label": label,
                "outcome_label": label_of(reached, case.several_modes),
                "several_modes": "yes" if case.several_modes else "no",
                "cloning_forecast": told.cloning,
                "cloning": reached.cloning,
                "offline_rl_forecast": told.offline_rl,
                "offline_rl": reached.offline_rl,
                "best": reached.best,
                "best_agent": case.best_agent,
                "advice": action_of(label, told),
            }
        )
    return rows


# -- advice ------------------------------------------------------------------------------------------------------------


def regret_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """Points lost against the better of cloning and offline RL; cloning the best part has no runs yet."""
    agents = agents_elsewhere(cases)
    rows = []
    for panel, part in panels(cases).items():
        for rule, lost in _regrets(part, forecasts, agents).items():
            row = {"panel": panel, "rule": rule, "n": len(part)}
            rows.append(row | {"mean": float(np.mean(lost)), "worst": float(np.max(lost))})
    return rows


def agents_elsewhere(cases: Sequence[Case]) -> dict[str, str]:
    """For every environment the value-based agent that reached most in the others: what the command would train."""
    return {
        here: best_on_average([case for case in cases if case.environment != here] or cases)
        for here in {case.environment for case in cases}
    }


def _regrets(
    cases: Sequence[Case], forecasts: Forecasts, agents: Mapping[str, str]
) -> dict[str, list[float]]:
    """By rule. With the mean return as forecast of both, offline RL is never ahead: its advice is to clone."""
    by_return = dict.fromkeys(TARGETS, MEAN_RETURN)
    best = [max(case.reached.cloning, case.reached.offline_rl) for case in cases]
    printed = [
        CLONE if _trained(case, forecasts) == "clone" else agents[case.environment]
        for case in cases
    ]
    return {
        "verdict": [regret(_trained(case, forecasts), case.reached) for case in cases],
        "verdict, agent of its command": [
            top - case.agents[agent] for top, case, agent in zip(best, cases, printed, strict=True)
        ],
        "mean return as forecast": [regret(_trained(c, by_return), c.reached) for c in cases],
        "always bc": [regret("clone", case.reached) for case in cases],
        "always iql": [top - case.agents["iql"] for top, case in zip(best, cases, strict=True)],
    }


def _trained(case: Case, forecasts: Forecasts):
    """The advice as something to train: where more data is asked for, one would clone what there is."""
    told = forecast_reached(case, forecasts)
    action = action_of(label_of(told, case.several_modes), told)
    return "clone" if action == "collect-more" else action
