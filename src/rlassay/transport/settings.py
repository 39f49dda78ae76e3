"""Settings of the transport estimators, and the rule for the regularisation strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlassay.errors import SettingsError
from rlassay.settings import added_later

EstimatorName = Literal["exact", "dual", "tail", "sinkhorn"]

RELATIVE_EPSILON = {"tail": 0.1, "exact": 0.5, "dual": 0.5, "sinkhorn": 0.5}


_COUNTS = (
    *("k", "steps", "batch_size", "hidden", "states"),
    *("anchors", "neighbours", "neighbour_pool", "per_episode"),
)


@dataclass(frozen=True)
class TransportSettings:
    """Settings of the Bellman-Wasserstein distance; docs/transport.md explains each."""

    estimator: EstimatorName = "exact"  # how the value is computed
    cost: str = "paper"  # a registered name, or package.module:function
    gap_weight: float = 1.0  # weight of the squared distance in cost `gap`
    k: int = 1  # random actions per state (exact, tail, dual)
    epsilon: float | None = None  # regularisation, absolute; None: 0.5 sd(cost), for tail 0.1
    regulariser: Literal["entropic", "quadratic"] = "entropic"  # of the dual
    # whom behaviour is held against
    random_policy: Literal["uniform", "clipped_normal"] = "uniform"
    potentials: Literal["free", "non_positive"] = "free"  # dual: sign of each; tail: threshold >= 0
    steps: int = 10_000  # updates of the potentials
    batch_size: int = 256  # states per update
    hidden: int = 256  # width of the potentials' hidden layer
    learning_rate: float = 2e-3  # of Adam on the potentials, falling to zero by a cosine
    states: int = 20_000  # held-out states evaluated
    anchors: int = 2_000  # sinkhorn: states at which a problem is solved
    neighbours: int = 32  # sinkhorn: actions per problem, from the nearest states
    neighbour_pool: int = 50_000  # sinkhorn: states among which neighbours are sought
    per_episode: int = 2  # sinkhorn: neighbours from one episode at most
    # discrete actions: a file with the matrix of distances between them; None: 0 or 1
    ground: str | None = added_later(None)

    def __post_init__(self) -> None:
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise SettingsError(
                    f"transport.{name} is too small", allowed="at least 1", got=getattr(self, name)
                )
        for name in ("epsilon", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise SettingsError(
                    f"transport.{name} is out of range", allowed="positive numbers", got=value
                )


def resolve_epsilon(settings: TransportSettings, *costs: np.ndarray) -> float:
    """The absolute epsilon: the setting's, else a fraction of the costs' standard deviation.

    Several arrays are pooled, each with the weight of its size; `compare` and studies pass those of every dataset and
    then set the result as an absolute epsilon.
    """
    if settings.epsilon is not None:
        return settings.epsilon
    return RELATIVE_EPSILON[settings.estimator] * cost_scale(*costs)


def cost_scale(*costs: np.ndarray) -> float:
    """Standard deviation of the pooled costs, never below the resolution of 32-bit numbers at their size."""
    pooled = _pooled(costs)
    return max(float(pooled.std()), 1e-6 * max(1.0, float(np.abs(pooled).max())))


def _pooled(costs: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in costs])
