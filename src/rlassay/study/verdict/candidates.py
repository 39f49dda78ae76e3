"""Candidates for the forecast and the rule of choice, as docs/verdict.md fixed them before the long oracle was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import CONFLICT_MIXTURES
from rlassay.study.verdict.cases import Case
from rlassay.study.worlds import DATASETS as OF_WORLDS
from rlassay.verdict.forecast import BASE, DISCOUNTED, discounted

TARGETS: tuple[str, ...] = ("cloning", "offline_rl")
PART = "best_part"  # the third target, once it has runs
BEST_AGENT, BY_BEST_TENTH = "best", "best tenth"  # a further one, if the test of it says so
CANDIDATES: dict[str, tuple[str, ...]] = {
    "cloning": ("return", "half", "reachable", "conflict", "learned world"),
    "offline_rl": (
        *("return_by_step", "half", "reachable", "conflict", "learned world"),
        "percentile clone",
    ),
    PART: ("best part", "best part, discounted"),
}
MARGIN = 0.05  # by which a later candidate has to be better than an earlier one
# Levels in points, by name; the returns they are made of stand in the tables of features.
LEVELS: dict[str, Callable[[Sequence[Case]], np.ndarray]] = {
    "return": lambda cases: feature(cases, "mean_return"),
    "return_by_step": lambda cases: feature(cases, "return_by_step"),
    "half": lambda cases: (feature(cases, "mean_return") + feature(cases, "return_by_step")) / 2,
    "reachable": lambda cases: np.minimum(
        feature(cases, "return_by_step"), feature(cases, "reachable")
    ),
    BY_BEST_TENTH: lambda cases: feature(cases, "best_tenth"),
    "best part": lambda cases: feature(cases, "best_part"),
}


def targets(cases: Sequence[Case]) -> tuple[str, ...]:
    """What can be judged: cloning the best part once every voting case has its run."""
    known = all(case.best_part is not None for case in cases if case.votes)
    return (*TARGETS, PART) if known and cases else TARGETS


def outcome(cases: Sequence[Case], target: str) -> np.ndarray:
    """What was reached, in points."""
    return np.array([getattr(case.reached, target) for case in cases], float)


def rmse(forecast: np.ndarray, reached: np.ndarray) -> float:
    """Root mean squared error, in points."""
    return float(np.sqrt(np.mean((forecast - reached) ** 2)))


def feature(cases: Sequence[Case], name: str) -> np.ndarray:
    """A return among the features, in points."""
    return np.array([case.points(case.row[name]) for case in cases])


def forecast_points(
    cases: Sequence[Case], target: str, name: str, others: Sequence[Case] = ()
) -> np.ndarray:
    """What a candidate forecasts, in points; a coefficient is fitted on those of the `others` that vote."""
    if name not in DISCOUNTED:
        return LEVELS[name](cases)
    rule, k = DISCOUNTED[name], coefficient(others, target, name)
    level, lost = LEVELS[rule.level_of(target)](cases), _plain(cases, rule.measured)
    return discounted(level, lost, k, feature(cases, "lowest"), feature(cases, "highest"))


def coefficient(cases: Sequence[Case], target: str, name: str) -> float:
    """The one fitted number of a discounted candidate, on the cases that vote."""
    voting, rule = [case for case in cases if case.votes], DISCOUNTED[name]
    level = LEVELS[rule.level_of(target)](voting)
    return fitted_share(level, _plain(voting, rule.measured), outcome(voting, target))


def _plain(cases: Sequence[Case], name: str) -> np.ndarray:
    return np.array([case.row[name] for case in cases], float)


def fitted_share(level: np.ndarray, discount: np.ndarray, reached: np.ndarray) -> float:
    """Least squares of reached = level (1 - k discount) over k, within 0 and 1."""
    slope = level * discount
    total = float((slope**2).sum())
    return float(np.clip((slope * (level - reached)).sum() / total, 0.0, 1.0)) if total else 0.0


def left_out(cases: Sequence[Case], target: str, name: str) -> np.ndarray:
    """Every case forecast by what was fitted on the other environments, in the order of the cases."""
    forecasts = np.zeros(len(cases))
    environments = np.array([case.environment for case in cases])
    for environment in np.unique(environments):
        inside = environments == environment
        others = [case for case, mine in zip(cases, inside, strict=True) if not mine]
        judged = [case for case, mine in zip(cases, inside, strict=True) if mine]
        forecasts[inside] = forecast_points(judged, target, name, others)
    return forecasts


def candidate_rows(cases: Sequence[Case], target: str) -> list[Row]:
    """Root mean squared error of every candidate over the voting mixtures, environments left out in turn."""
    voting = [case for case in cases if case.votes]
    reached = outcome(voting, target)
    return [
        {
            "target": target,
            "candidate": name,
            "n": len(voting),
            "rmse": rmse(left_out(voting, target, name), reached),
            "fitted": coefficient(voting, target, name) if name in DISCOUNTED else None,
        }
        for name in CANDIDATES[target]
    ]


def choose(rows: Sequence[Row], refined: bool = True) -> str:
    """The smallest error; a later candidate has to be better than an earlier one by 5 %.

    Without `refined` only those count that need no fit, which every card can have.
    """
    able = [row for row in rows if refined or row["candidate"] not in DISCOUNTED]
    best = able[0]
    for row in able[1:]:
        if row["rmse"] < (1 - MARGIN) * best["rmse"]:
            best = row
    return best["candidate"]


def may_choose(cases: Sequence[Case]) -> bool:
    """Whether the conflict mixtures are there, which vote; on another oracle than the long one they never are."""
    return any(case.dataset in CONFLICT_MIXTURES for case in cases)


def chosen(cases: Sequence[Case], refined: bool) -> dict[str, str]:
    """The rule of choice applied to every target, and the best agent where its own test was passed."""
    found = {t: choose(candidate_rows(cases, t), refined) for t in targets(cases)}
    return found | ({BEST_AGENT: BY_BEST_TENTH} if best_tenth_holds(cases) else {})


def best_tenth_holds(cases: Sequence[Case]) -> bool:
    """Whether the best tenth forecasts the best agent 5 % better than the return by step, on data made after it was proposed."""
    judged = made_afterwards(cases)
    if not judged:
        return False
    errors = [
        rmse(LEVELS[name](judged), outcome(judged, BEST_AGENT))
        for name in (BY_BEST_TENTH, "return_by_step")
    ]
    return errors[0] <= (1 - MARGIN) * errors[1]


def made_afterwards(cases: Sequence[Case]) -> list[Case]:
    """The conflict mixtures and the other worlds together; without either there is no test."""
    parts = [[c for c in cases if c.dataset in names] for names in (CONFLICT_MIXTURES, OF_WORLDS)]
    return [case for part in parts for case in part] if all(parts) else []


def base(target_names: Sequence[str] = TARGETS) -> dict[str, str]:
    """What is forecast where nothing was chosen."""
    return {target: BASE[target] for target in target_names}
