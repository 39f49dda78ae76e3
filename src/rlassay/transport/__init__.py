"""The Bellman-Wasserstein distance between behaviour and a random policy: costs, estimators, results.

    results = estimate(problem, TransportSettings(estimator="exact"), seeds=[0, 1, 2])

Estimators and costs are defined in docs/transport.md.
"""

from rlassay.transport.closed import TransportResult, exact, tail
from rlassay.transport.costs import COSTS, Cost, pair_costs, register_cost, resolve_cost
from rlassay.transport.estimators import ESTIMATORS, Estimator, estimate, evaluated_pairs
from rlassay.transport.problem import Choices, Pairs, Problem
from rlassay.transport.random_policy import Box, RandomPolicy, Uniform, draw_actions
from rlassay.transport.settings import TransportSettings, resolve_epsilon

REVISION = 1  # raised whenever the numbers of an estimator change

__all__ = [
    "COSTS",
    "ESTIMATORS",
    "REVISION",
    "Box",
    "Choices",
    "Cost",
    "Estimator",
    "Pairs",
    "Problem",
    "RandomPolicy",
    "TransportResult",
    "TransportSettings",
    "Uniform",
    "draw_actions",
    "estimate",
    "evaluated_pairs",
    "exact",
    "pair_costs",
    "register_cost",
    "resolve_cost",
    "resolve_epsilon",
    "tail",
]
