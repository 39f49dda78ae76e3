"""Results as tables of pandas or polars, whichever is installed; neither is needed for anything else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from rlassay.errors import SettingsError

if TYPE_CHECKING:
    from rlassay.curation.result import Curation
    from rlassay.data.dataset import Dataset
    from rlassay.results.card import Comparison, Scorecard

LIBRARIES = ("pandas", "polars")  # the first that is installed


def frame(columns: Mapping[str, Any]) -> Any:
    """Columns of equal length as a DataFrame: of pandas where it is installed, else of polars."""
    for library in LIBRARIES:
        if find_spec(library):
            table: Any = import_module(library)
            return table.DataFrame(dict(columns))
    raise SettingsError(
        "a table needs pandas or polars, and neither is installed", remedy="pip install pandas"
    )


def scores_frame(card: Scorecard) -> Any:
    """One row a score."""
    scores = list(card.values())
    return frame(
        {
            "score": list(card),
            "value": [score.value for score in scores],
            **_bounds([score.interval for score in scores]),
            "direction": [score.direction for score in scores],
            "unit": [score.unit for score in scores],
            "n": [score.n for score in scores],
            "converged": [score.converged for score in scores],
            "relative": [score.relative for score in scores],
        }
    )


def episodes_frame(card: Scorecard) -> Any:
    """The table of episodes in a card's `series`; a sample of them where there are more than 5,000."""
    stored: dict[str, Any] = card.series.get("episodes") or {}
    length = len(stored.get("return", ()))
    columns = {
        "episode" if name == "index" else name: values
        for name, values in stored.items()
        if hasattr(values, "__len__") and len(values) == length
    }
    return frame(columns)


def ranking_frame(comparison: Comparison) -> Any:
    """One row a score and dataset, in the order of the ranking."""
    ranks = [(name, rank) for name, order in comparison.ranking.items() for rank in order]
    return frame(
        {
            "score": [name for name, _ in ranks],
            "rank": [rank.rank for _, rank in ranks],
            "source": [rank.source for _, rank in ranks],
            "value": [rank.value for _, rank in ranks],
            **_bounds([rank.interval for _, rank in ranks]),
            "tied_with": [", ".join(rank.tied_with) for _, rank in ranks],
        }
    )


def dataset_frame(data: Dataset) -> Any:
    """One row an episode."""
    last = data.episode_stops - 1
    ended = np.where(data.terminals[last], "terminal", np.where(data.timeouts[last], "timeout", ""))
    columns = {
        "episode": np.arange(data.episode_count),
        "start": data.episode_starts,
        "length": data.episode_lengths,
    }
    if data.rewards is not None:
        columns["return"] = data.episode_returns
    return frame({**columns, "end": ended.tolist()})


def curation_frame(curation: Curation) -> Any:
    """One row an episode of the source, in its order."""
    episodes = np.sort(np.concatenate([curation.kept, curation.dropped]))
    return frame({"episode": episodes, "kept": np.isin(episodes, curation.kept)})


def _bounds(intervals: list[tuple[float, float] | None]) -> dict[str, list[float | None]]:
    return {
        "low": [None if bounds is None else bounds[0] for bounds in intervals],
        "high": [None if bounds is None else bounds[1] for bounds in intervals],
    }
