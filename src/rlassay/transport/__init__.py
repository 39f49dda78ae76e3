"""The Bellman-Wasserstein distance between behaviour and a random policy: costs, estimators, results.

    results = estimate(problem, TransportSettings(estimator="exact"), seeds=[0, 1, 2])

Estimators and costs are defined in docs/transport.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlassay.transport.closed import exact, tail, tail_threshold
from rlassay.transport.costs import COSTS, Cost, pair_costs, register_cost, resolve_cost
from rlassay.transport.problem import Pairs, Problem, draw_actions, draw_pairs, evaluated_rows
from rlassay.transport.result import TransportResult
from rlassay.transport.settings import TransportSettings, cost_scale, resolve_epsilon

REVISION = 1

__all__ = [
    "COSTS", "REVISION", "Cost", "Pairs", "Problem", "TransportResult", "TransportSettings",
    "cost_scale", "draw_actions", "draw_pairs", "estimate", "evaluated_pairs", "evaluated_rows",
    "exact", "pair_costs", "register_cost", "resolve_cost", "resolve_epsilon", "tail",
    "tail_threshold",
]  # fmt: skip


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
    on_progress: Callable[[int], None] | None = None,
) -> list[TransportResult]:
    """The transport value by `settings.estimator`, one result a seed.

    Seed number k uses the critic `q_params[k]`. `pairs` of an earlier `evaluated_pairs` with the same cost, random
    policy and k may be passed on, so that estimators share them.
    """
    pairs = evaluated_pairs(problem, settings, seeds) if pairs is None else pairs
    if settings.estimator in ("exact", "tail"):
        closed = exact if settings.estimator == "exact" else tail
        return [closed(one.costs, settings, one.rows) for one in pairs]
    epsilons = [resolve_epsilon(settings, one.costs) for one in pairs]
    if settings.estimator == "dual":
        from rlassay.transport.dual import dual

        return dual(problem, settings, pairs, epsilons, seeds=seeds, on_progress=on_progress)
    from rlassay.transport.sinkhorn import sinkhorn

    return [
        sinkhorn(problem, settings, epsilon, seed=seed, member=member)
        for member, (seed, epsilon) in enumerate(zip(seeds, epsilons, strict=True))
    ]
