"""Scores of single episodes and transitions, consistent with the scores of the whole dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.curation.diversity import visited_cells
from rlassay.curation.table import Direction, EpisodeTable, write_episode_table
from rlassay.dataset import Dataset
from rlassay.errors import SettingsError

__all__ = ["EPISODE_SCORES", "EpisodeTable", "episode_scores", "write_episode_table"]

COUNTED: dict[str, Direction] = {"return": "higher", "reward": "higher", "coverage": "higher"}
LEARNED: dict[str, Direction] = {}
EPISODE_SCORES = COUNTED | LEARNED


def episode_scores(
    data: Dataset,
    *,
    scores: Sequence[str] | None = None,
    preset: str = "default",
    changes: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> EpisodeTable:
    names = list(scores or EPISODE_SCORES)
    columns: dict[str, np.ndarray] = {}
    for name in names:
        if name not in EPISODE_SCORES:
            raise SettingsError("unknown episode score", allowed=list(EPISODE_SCORES), got=name)
        columns[name] = _counted(data, name, seed)
    return EpisodeTable(data.episode_starts, data.episode_lengths, columns, EPISODE_SCORES)


def _counted(data: Dataset, name: str, seed: int) -> np.ndarray:
    if name == "coverage":
        return visited_cells(data, seed).shares()
    if name == "return":
        return data.episode_returns
    return data.episode_returns / data.episode_lengths
