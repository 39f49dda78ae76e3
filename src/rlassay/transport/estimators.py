"""The estimators of the transport value: values in a dict, named by settings and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlassay.transport.closed import TransportResult, exact, mean_cost, tail, tail_integrand
from rlassay.transport.problem import Pairs, Problem, draw_pairs, evaluated_rows
from rlassay.transport.settings import TransportSettings, resolve_epsilon

OnProgress = Callable[[int], None]
Solve = Callable[
    [Problem, TransportSettings, Sequence[int], Sequence[Pairs], OnProgress | None],
    list[TransportResult],
]


@dataclass(frozen=True)
class Estimator:
    """How a transport value is computed, and where its integrand lives."""

    solve: Solve
    cost: str | None = None  # taken unless one is named; None: that of the settings
    lives_on: Literal["rows", "anchors"] = "rows"  # what the integrand has one entry for
    trains: bool = False  # long enough for a progress bar
    most_actions: int | None = (
        None  # of discrete actions, where its work grows faster than with their number
    )
    # (signed costs (n, k) of any rows, the dataset's result) -> integrand: there where a closed form needs no training
    integrand: Callable[[np.ndarray, TransportResult], np.ndarray] | None = None

    @property
    def closed_form(self) -> bool:
        return self.integrand is not None


def _exact(problem, settings, seeds, pairs, on_progress) -> list[TransportResult]:
    return [exact(one.costs, settings, one.rows) for one in pairs]


def _tail(problem, settings, seeds, pairs, on_progress) -> list[TransportResult]:
    return [tail(one.costs, settings, one.rows) for one in pairs]


def _dual(problem, settings, seeds, pairs, on_progress) -> list[TransportResult]:
    from rlassay.transport.dual import dual

    epsilons = [resolve_epsilon(settings, one.costs) for one in pairs]
    return dual(problem, settings, pairs, epsilons, seeds=seeds, on_progress=on_progress)


def _sinkhorn(problem, settings, seeds, pairs, on_progress) -> list[TransportResult]:
    from rlassay.transport.sinkhorn import between_laws, sinkhorn

    epsilons = [resolve_epsilon(settings, one.costs) for one in pairs]
    value = sinkhorn if problem.choices is None else between_laws
    return [
        value(problem, settings, epsilon, seed=seed, member=member)
        for member, (seed, epsilon) in enumerate(zip(seeds, epsilons, strict=True))
    ]


def _at_optimal_threshold(costs: np.ndarray, result: TransportResult) -> np.ndarray:
    return tail_integrand(costs, result.diagnosis["threshold"], result.epsilon)


ESTIMATORS: dict[str, Estimator] = {
    "exact": Estimator(_exact, integrand=lambda costs, result: mean_cost(costs)),
    "dual": Estimator(_dual, trains=True, most_actions=100),
    "tail": Estimator(_tail, cost="public", integrand=_at_optimal_threshold),
    "sinkhorn": Estimator(_sinkhorn, lives_on="anchors", most_actions=500),
}


def evaluated_pairs(
    problem: Problem, settings: TransportSettings, seeds: Sequence[int]
) -> list[Pairs]:
    """The held-out states, the same for every seed, with fresh random actions, values and costs for each."""
    rows = evaluated_rows(problem, settings, seeds[0])
    return [
        draw_pairs(problem, settings, rows, seed=seed, member=member)
        for member, seed in enumerate(seeds)
    ]


def estimate(
    problem: Problem,
    settings: TransportSettings,
    seeds: Sequence[int],
    *,
    pairs: Sequence[Pairs] | None = None,
    on_progress: OnProgress | None = None,
) -> list[TransportResult]:
    """The transport value by `settings.estimator`, one result a seed.

    Seed number k uses the critic `q_params[k]`. `pairs` of an earlier `evaluated_pairs` with the same cost, random
    policy and k may be passed on, so that estimators share them.
    """
    pairs = evaluated_pairs(problem, settings, seeds) if pairs is None else pairs
    return ESTIMATORS[settings.estimator].solve(problem, settings, seeds, pairs, on_progress)
