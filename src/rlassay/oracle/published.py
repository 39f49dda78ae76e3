"""Published normalised scores on D4RL v2, by dataset and agent, each with its source.

Sources: BC and CQL: the EDAC paper's reproductions, as reprinted by PMDB. AWAC: OfflineRL-Lib (CORL's arguments). Onestep:
the OnestepRL paper, exponential weights. TD3+BC: the authors' v2 numbers, via the CABI README. IQL: OfflineRL-Lib (the IQL
paper's arguments). XQL: the XQL paper's consistent setting; nnabla-rl on the expert sets, none on the random sets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rlassay.errors import SettingsError
from rlassay.oracle.statistics import summarise, table_row
from rlassay.results.oracle import Oracle

SOURCES = {
    "bc": "EDAC paper's reproduction, reprinted by PMDB",
    "awac": "OfflineRL-Lib 988f9a1, CORL arguments",
    "onestep": "OnestepRL paper, exponential weights",
    "td3bc": "TD3+BC authors' v2 numbers, via the CABI README",
    "cql": "EDAC paper's reproduction, reprinted by PMDB",
    "iql": "OfflineRL-Lib 988f9a1, the IQL paper's arguments",
    "xql": "XQL paper, consistent setting; expert sets: nnabla-rl",
}

# dataset: bc, awac, onestep, td3bc, cql, iql, xql
_SCORES = {
    "halfcheetah-random": (2.2, 8.2, 3.2, 11.0, 31.3, 9.4, None),
    "halfcheetah-medium": (43.2, 49.8, 48.4, 48.3, 46.9, 47.3, 47.7),
    "halfcheetah-medium-replay": (37.6, 46.5, 38.1, 44.6, 45.3, 43.7, 44.8),
    "halfcheetah-medium-expert": (44.0, 93.5, 93.4, 90.7, 95.0, 89.7, 89.8),
    "halfcheetah-expert": (91.8, 99.9, None, 96.7, 97.3, 94.8, 94.9),
    "hopper-random": (3.7, 18.3, 7.5, 8.5, 5.3, 7.9, None),
    "hopper-medium": (54.1, 64.8, 59.6, 59.3, 61.9, 64.8, 71.1),
    "hopper-medium-replay": (16.6, 91.7, 97.5, 60.9, 86.3, 93.4, 97.3),
    "hopper-medium-expert": (53.9, 86.4, 103.3, 98.0, 96.9, 97.8, 107.1),
    "hopper-expert": (107.7, 94.7, None, 107.8, 106.5, 110.1, 112.9),
    "walker2d-random": (1.3, 6.6, 5.6, 1.6, 5.4, 6.0, None),
    "walker2d-medium": (70.9, 86.5, 81.8, 83.7, 79.5, 83.5, 81.5),
    "walker2d-medium-replay": (20.3, 87.6, 49.5, 81.8, 76.8, 66.6, 75.9),
    "walker2d-medium-expert": (90.1, 113.3, 113.0, 110.1, 109.1, 108.9, 110.1),
    "walker2d-expert": (108.7, 113.0, None, 110.2, 109.3, 109.7, 109.9),
}


@dataclass(frozen=True)
class Published:
    """Published scores of one dataset; `agents` lacks those for which none was found."""

    dataset: str
    agents: dict[str, float]

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.agents.values())))

    @property
    def spread(self) -> float:
        """Standard deviation over agents."""
        return float(np.std(list(self.agents.values()), ddof=1))

    @property
    def sources(self) -> dict[str, str]:
        return {name: SOURCES[name] for name in self.agents}


def published_scores(dataset: str) -> Published:
    """The table's row of a D4RL dataset; version suffix and file ending do not matter."""
    name = re.sub(r"(-v\d+)?(\.hdf5)?$", "", dataset.rsplit("/", 1)[-1].lower().replace("_", "-"))
    if name not in _SCORES:
        raise SettingsError(
            "no published scores for this dataset",
            allowed=[f"{known}-v2" for known in _SCORES],
            got=dataset,
        )
    pairs = zip(SOURCES, _SCORES[name], strict=True)
    return Published(f"{name}-v2", {agent: score for agent, score in pairs if score is not None})


def published_oracle(name: str) -> Oracle:
    """The oracle of a D4RL dataset from published tables; it has no runs, but sources."""
    row = published_scores(name)
    values = {agent: np.array([score]) for agent, score in row.agents.items()}
    return Oracle(
        env_id=row.dataset,
        dataset={"source": row.dataset},
        profile="published",
        score={**summarise(values), "spread": row.spread},
        table={agent: table_row(found) for agent, found in values.items()},
        unit="normalised score",
        runs={agent: [] for agent in values},
        sources=row.sources,
    )
