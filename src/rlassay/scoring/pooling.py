"""What the datasets of one comparison share: standardisation, bounds, grid and epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rlassay.critic import Scaling
from rlassay.data.dataset import Dataset
from rlassay.scoring.settings import Shared
from rlassay.transport import resolve_epsilon

if TYPE_CHECKING:
    from rlassay.scoring.assessment import Assessment


def shared_statistics(datasets: Sequence[Dataset]) -> Shared:
    """Pooled standardisation, action bounds and grid of several datasets of one task."""
    columns = [(data.observations, data.actions) for data in datasets]
    lows = [np.concatenate([o.min(axis=0), a.min(axis=0)]) for o, a in columns]
    highs = [np.concatenate([o.max(axis=0), a.max(axis=0)]) for o, a in columns]
    return Shared(
        Scaling.of(*datasets),
        np.min(lows, axis=0).astype(np.float64),
        np.max(highs, axis=0).astype(np.float64),
    )


def pooled_epsilons(
    assessments: Sequence[Assessment], estimators: Sequence[str]
) -> dict[str, float]:
    """One absolute epsilon an estimator, from the costs of every dataset and seed."""
    found = {}
    for estimator in estimators:
        costs = [one.costs for each in assessments for one in each.pairs_for(estimator)]
        found[estimator] = resolve_epsilon(assessments[0].plan.transport_for(estimator), *costs)
    return found
