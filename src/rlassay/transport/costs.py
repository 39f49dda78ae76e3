"""Costs of pairing a data action with a random one, and the registry that names them.

A cost is a function (q_data, q_random, actions, random_actions) -> array over n pairs that share a state: values of
shape (n,), actions of shape (n, dimensions), NumPy in and NumPy out.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rlassay.data.discrete import ActionNumbers
from rlassay.errors import SettingsError, SolverError
from rlassay.transport.ground import ground_metric
from rlassay.transport.settings import TransportSettings
from rlassay.words import suggest

CostFunction = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Cost:
    """A cost function; the score is `sign` times the transport value."""

    function: CostFunction
    sign: int = 1
    reads_q_data: bool = True  # False saves evaluating Q at the data's own actions
    weighted: bool = False  # True: takes the keyword `gap_weight`
    measured: bool = False  # True: takes the keyword `metric`, in the place of |a'-a|^2


def squared_distance(actions: np.ndarray, random_actions: np.ndarray) -> np.ndarray:
    """|a' - a|^2, summed over the dimensions."""
    difference = random_actions - actions
    return np.einsum("...i,...i->...", difference, difference)


def paper(q_data, q_random, actions, random_actions, *, metric=squared_distance):
    """Q(s,a') - |a'-a|^2, the paper's."""
    return q_random - metric(actions, random_actions)


def sup(q_data, q_random, actions, random_actions, *, metric=squared_distance):
    """-Q(s,a') - |a'-a|^2; the score is minus its transport value."""
    return -q_random - metric(actions, random_actions)


def public(q_data, q_random, actions, random_actions, *, metric=squared_distance):
    """Q(s,a') + mean squared difference over the action's dimensions; the printed table follows it."""
    return q_random + metric(actions, random_actions) / actions.shape[-1]


def gap(q_data, q_random, actions, random_actions, *, gap_weight, metric=squared_distance):
    """(Q(s,a) - Q(s,a'))_+ + weight |a'-a|^2, the one in which value shapes the plan."""
    gain = np.maximum(q_data - q_random, 0)
    return gain + gap_weight * metric(actions, random_actions)


def distance(q_data, q_random, actions, random_actions, *, metric=squared_distance):
    """-|a'-a|^2, the ablation without value."""
    return -metric(actions, random_actions)


COSTS: dict[str, Cost] = {
    "paper": Cost(paper, reads_q_data=False, measured=True),
    "sup": Cost(sup, sign=-1, reads_q_data=False, measured=True),
    "public": Cost(public, reads_q_data=False, measured=True),
    "gap": Cost(gap, weighted=True, measured=True),
    "distance": Cost(distance, reads_q_data=False, measured=True),
}


def register_cost(name: str, function: CostFunction, *, sign: int = 1) -> None:
    """Make a cost known by `name`; with `sign=-1` the score is minus the transport value."""
    if not name or ":" in name:
        raise SettingsError("a cost needs a name without a colon", got=name)
    if name in COSTS:
        raise SettingsError(f"a cost named {name} exists already", remedy="choose another name")
    if sign not in (1, -1):
        raise SettingsError("the sign of a cost is out of range", allowed=(1, -1), got=sign)
    COSTS[name] = Cost(function, sign=sign)


def resolve_cost(settings: TransportSettings, numbers: ActionNumbers | None = None) -> Cost:
    """The named cost with its weight and, for numbered actions, their distances filled in.

    Imports a user's `package.module:function`, which is given the actions themselves.
    """
    cost = COSTS.get(settings.cost) or Cost(_import_function(settings.cost))
    filled: dict[str, Any] = {}
    if cost.weighted:
        filled["gap_weight"] = settings.gap_weight
    if cost.measured and numbers is not None:
        filled["metric"] = ground_metric(settings.ground, numbers)
    if not filled:
        return cost
    function = functools.partial(cost.function, **filled)
    return replace(cost, function=function, weighted=False, measured=False)


def _import_function(name: str) -> CostFunction:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingsError(
            f"unknown cost{suggest(name, COSTS)}",
            allowed=[*COSTS, "package.module:function"],
            got=name,
        )
    try:
        function = functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"the cost {name} cannot be imported ({error})",
            remedy="write package.module:function with the package on PYTHONPATH",
        ) from None
    if not callable(function):
        raise SettingsError(f"the cost {name} is not a function", got=type(function).__name__)
    return function


def pair_costs(
    cost: Cost,
    q_data: np.ndarray,
    q_random: np.ndarray,
    actions: np.ndarray,
    random_actions: np.ndarray,
) -> np.ndarray:
    """Costs in float64 of pairs whose arrays broadcast to the shape of `q_random`."""
    shape = np.broadcast_shapes(np.shape(q_random), np.shape(q_data))
    dimensions = np.shape(actions)[-1]

    def flat(values):
        return np.broadcast_to(np.asarray(values, np.float64), shape).reshape(-1)

    def flat_actions(values):
        values = np.asarray(values, np.float64)
        return np.broadcast_to(values, (*shape, dimensions)).reshape(-1, dimensions)

    values = np.asarray(
        cost.function(
            flat(q_data), flat(q_random), flat_actions(actions), flat_actions(random_actions)
        ),
        np.float64,
    )
    return _checked(values, shape)


def _checked(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    pairs = int(np.prod(shape))
    if values.shape != (pairs,):
        raise SettingsError(
            "the cost function returned an array of another shape",
            allowed=f"one number a pair, ({pairs},)",
            got=values.shape,
        )
    if not np.isfinite(values).all():
        raise SolverError(
            "the cost is not finite on every pair",
            remedy="check the critic's values and the cost function",
        )
    return values.reshape(shape)
