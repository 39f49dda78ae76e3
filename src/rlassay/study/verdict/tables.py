"""How far the verdict holds, with environments left out in turn: errors, coverage, labels and the regret of its advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rlassay.stats import correlation
from rlassay.study.analysis.reliability import ceiling, reliability_over_agents
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import CONFLICT_MIXTURES, FRESH_MIXTURES, MIXTURES, OTHERS, PANELS
from rlassay.study.verdict.calibrate import best_on_average, residuals
from rlassay.study.verdict.candidates import (
    BEST_AGENT,
    BY_BEST_TENTH,
    LEVELS,
    PART,
    TARGETS,
    left_out,
    made_afterwards,
    outcome,
    rmse,
)
from rlassay.study.verdict.cases import CLONE, VALUE_BASED, Case
from rlassay.study.worlds import DATASETS as OF_WORLDS
from rlassay.verdict.calibration import LARGEST, POINTS
from rlassay.verdict.forecast import conformal_half_width
from rlassay.verdict.labels import Action, Reached, action_of, best_action, label_of, regret

LEVEL = 0.8
MEAN_RETURN = "return"
OF_THE_BEST = (BY_BEST_TENTH, "return_by_step", MEAN_RETURN)  # forecasts of the best agent, no fit
LABELS = ("near-random", "weak", "mixed", "consistent", "expert-like")
THE_TEST = "the test: conflict mixtures and other worlds"  # of the best tenth
RULES = (
    *("verdict", "verdict, agent of its command", "mean return as forecast"),
    *("always bc", "always the best part", "always iql"),
)
Forecasts = Mapping[str, str]  # target -> name of the forecast


def panels(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """All datasets, all mixtures of one algorithm, of the first study and those made to test it; of two; no mixtures; other worlds."""
    every = [case.dataset for case in cases]
    elsewhere = [name for name in every if name not in OF_WORLDS]
    parts = {
        "all": every,
        "all but other worlds": elsewhere if elsewhere != every else [],
        "mixtures": MIXTURES,
        "first mixtures": PANELS["mixtures"],
        "fresh mixtures": FRESH_MIXTURES,
        "conflict mixtures": CONFLICT_MIXTURES,
        "one policy or level": OTHERS,
        "other worlds": OF_WORLDS,
    }
    found = {name: [c for c in cases if c.dataset in members] for name, members in parts.items()}
    return {name: part for name, part in found.items() if part}


# -- the forecast ------------------------------------------------------------------------------------------------------


def error_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """The forecast, and the mean return in its place: error in points, correlation, and the ceiling of the latter.

    The best agent has a table of its own.
    """
    rows = []
    for target, chosen in forecasts.items():
        if target == BEST_AGENT:
            continue
        judged = trained(cases, target)
        for name in dict.fromkeys((chosen, MEAN_RETURN)):
            told = dict(zip(map(id, judged), left_out(judged, target, name), strict=True))
            for panel, part in panels(judged).items():
                forecast = np.array([told[id(case)] for case in part])
                found = {"panel": panel, "target": target, "forecast": name}
                rows.append(found | _error(part, target, forecast))
    order = list(panels(cases))
    return sorted(rows, key=lambda row: order.index(row["panel"]))


def best_agent_rows(cases: Sequence[Case]) -> list[Row]:
    """What the best of the agents reached, forecast by the best tenth, by the return by step and by the mean return."""
    judged = made_afterwards(cases)
    return [
        {"panel": panel, "target": BEST_AGENT, "forecast": name}
        | _error(part, BEST_AGENT, LEVELS[name](part))
        for panel, part in (panels(cases) | ({THE_TEST: judged} if judged else {})).items()
        for name in OF_THE_BEST
    ]


def trained(cases: Sequence[Case], target: str) -> list[Case]:
    """The cases with an outcome; cloning the best part is not trained everywhere."""
    return [case for case in cases if getattr(case.reached, target) is not None]


def _error(cases: Sequence[Case], target: str, forecast: np.ndarray) -> Row:
    reached = outcome(cases, target)
    return {
        "n": len(cases),
        "rmse": rmse(forecast, reached),
        "bias": float(np.mean(forecast - reached)),
        "pearson": correlation(forecast, reached),
        "ceiling": _ceiling(cases, target),
    }


def _ceiling(cases: Sequence[Case], target: str) -> float | None:
    """Of the mean of five agents by their halves; one agent with one seed has no halves."""
    whole = all(agent in case.agents for case in cases for agent in VALUE_BASED)
    if target != "offline_rl" or not whole:
        return None
    reached = np.array([[case.agents[agent] for case in cases] for agent in VALUE_BASED])
    return ceiling(reliability_over_agents(reached))


def coverage_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """How often the 80 % interval holds in an environment that it was not made on, with an exact binomial interval."""
    rows = []
    for unit in (POINTS, LARGEST):
        for target in forecasts:
            judged = trained(cases, target)
            environments = np.array([case.environment for case in judged])
            errors = residuals(judged, target, forecasts[target])[unit]
            for environment in dict.fromkeys(case.environment for case in judged):
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


def forecast_reached(cases: Sequence[Case], forecasts: Forecasts) -> list[Reached]:
    """What label and advice of a card go by, in points, with the environment left out of every fit."""
    told = {target: left_out(cases, target, name) for target, name in forecasts.items()}
    found = []
    for k in range(len(cases)):
        both = [float(told[target][k]) for target in TARGETS]
        part = float(told[PART][k]) if PART in told else None
        found.append(Reached(both[0], both[1], max(both), part))
    return found


def confusion_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """One row a label by outcome, one column a label by forecast."""
    pairs = [
        (
            label_of(case.reached, case.several_modes),
            label_of(told, case.several_modes),
        )
        for case, told in zip(cases, forecast_reached(cases, forecasts), strict=True)
    ]
    return [
        {"outcome": actual, **{label: pairs.count((actual, label)) for label in LABELS}}
        for actual in LABELS
    ]


def label_rows(cases: Sequence[Case], forecasts: Forecasts) -> list[Row]:
    """Every dataset with both labels, the forecasts and the outcome."""
    rows = []
    for case, told in zip(cases, forecast_reached(cases, forecasts), strict=True):
        reached = case.reached
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
                "best_part_forecast": told.best_part,
                "best_part": reached.best_part,
                "best": reached.best,
                "best_agent": case.best_agent,
                "advice": action_of(label, told),
            }
        )
    return rows


# -- advice ------------------------------------------------------------------------------------------------------------


def reached_rows(cases: Sequence[Case]) -> list[Row]:
    """Means of what was reached, in points; None where cloning the best part was not trained on every dataset."""
    rows = []
    for panel, part in panels(cases).items():
        row: Row = {"panel": panel, "n": len(part)}
        for target in (*TARGETS, PART, BEST_AGENT):
            whole = len(trained(part, target)) == len(part)
            row[target] = float(outcome(part, target).mean()) if whole else None
        rows.append(row)
    return rows


def regret_rows(
    cases: Sequence[Case], forecasts: Forecasts, agents: Mapping[str, str] | None = None
) -> list[Row]:
    """Points lost against the best of cloning, offline RL and, once it has runs, cloning the best part.

    `agents`: what the command would train, by environment; by default what reached most in the other environments.
    """
    lost = _regrets(cases, forecasts, agents or agents_elsewhere(cases))
    rows = []
    for panel, part in panels(cases).items():
        inside = {id(case) for case in part}
        for rule, points in lost.items():
            pairs = zip(cases, points, strict=True)
            mine = [p for case, p in pairs if id(case) in inside and p is not None]
            if mine:
                row = {"panel": panel, "rule": rule, "n": len(mine)}
                rows.append(row | {"mean": float(np.mean(mine)), "worst": float(np.max(mine))})
    return rows


def agents_elsewhere(cases: Sequence[Case]) -> dict[str, str]:
    """For every environment the value-based agent that reached most in the others: what the command would train."""
    return {
        here: best_on_average([case for case in cases if case.environment != here] or cases)
        for here in {case.environment for case in cases}
    }


def _regrets(
    cases: Sequence[Case], forecasts: Forecasts, agents: Mapping[str, str]
) -> dict[str, list[float | None]]:
    """By rule, None where it was not trained. With the mean return as forecast of both, offline RL is never ahead: its advice is to clone."""
    advised = _advised(cases, forecasts)
    by_return = _advised(cases, dict.fromkeys(TARGETS, MEAN_RETURN))
    reached = [case.reached for case in cases]
    printed = [
        _by_command(case, action, agents) for case, action in zip(cases, advised, strict=True)
    ]
    best = [best_action(each) for each in reached]
    against = {
        "verdict, agent of its command": printed,
        "always iql": [case.agents["iql"] for case in cases],
    }
    found: dict[str, list[float | None]] = {
        "verdict": [regret(action, r) for action, r in zip(advised, reached, strict=True)],
        "mean return as forecast": [regret(a, r) for a, r in zip(by_return, reached, strict=True)],
        "always bc": [regret("clone", each) for each in reached],
    }
    if PART in forecasts:
        found["always the best part"] = [
            None if each.best_part is None else regret("clone-best-part", each) for each in reached
        ]
    found |= {
        rule: [top - value for top, value in zip(best, values, strict=True)]
        for rule, values in against.items()
    }
    return {rule: found[rule] for rule in RULES if rule in found}


def _advised(cases: Sequence[Case], forecasts: Forecasts) -> list[Action]:
    """The advice as something to train: where more data is asked for, one would clone what there is.

    A part that was not trained on a dataset is not advised there.
    """
    found: list[Action] = []
    for case, told in zip(cases, forecast_reached(cases, forecasts), strict=True):
        known = told if case.best_part is not None else replace(told, best_part=None)
        action = action_of(label_of(known, case.several_modes), known)
        found.append("clone" if action == "collect-more" else action)
    return found


def _by_command(case: Case, action: Action, agents: Mapping[str, str]) -> float:
    """What the agent of the printed command reached; where it was not trained, the mean of those that were."""
    if action == "clone-best-part" and case.best_part is not None:
        return case.best_part
    if action == "clone":
        return case.agents[CLONE]
    return case.agents.get(agents[case.environment], case.reached.offline_rl)
