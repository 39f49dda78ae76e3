"""Numbers behind the figures: columns of episodes, histograms, samples, sparklines. Reads cards, draws nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rlassay.results.card import Scorecard, json_values
from rlassay.stats import top_mean

TOP_SHARE = 0.1  # the best tenth that figures mark
FIXED_COLUMNS = ("index", "start", "length", "return")
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-=+*%#"


@dataclass(frozen=True)
class Episodes:
    """The table of episodes in a card: columns of equal length, and how many episodes there are in all."""

    columns: Mapping[str, np.ndarray]
    total: int

    def __len__(self) -> int:
        return len(self.columns["return"])

    @property
    def returns(self) -> np.ndarray:
        return self.columns["return"]

    @property
    def scores(self) -> list[str]:
        return [name for name in self.columns if name not in FIXED_COLUMNS]

    @property
    def sampled(self) -> bool:
        return self.total > len(self)


def plain_card(card: Scorecard) -> Scorecard:
    """The card as its JSON would give it back: a fresh one holds NumPy arrays."""
    parts = ("dataset", "settings", "diagnosis", "series", "inspection", "demonstrations")
    return replace(card, **{part: json_values(getattr(card, part)) for part in parts})


def episodes_of(card: Scorecard) -> Episodes | None:
    """The episodes of a card; None when it has none or they have no return."""
    stored = card.series.get("episodes") or {}
    returns = stored.get("return")
    if not returns:
        return None
    columns = {
        name: np.asarray(values, dtype=float)
        for name, values in stored.items()
        if isinstance(values, Sequence)
        and len(values) == len(returns)
        and all(isinstance(value, int | float) for value in values)
    }
    columns.setdefault("index", np.arange(len(returns), dtype=float))
    total = stored.get("sampled_from") or card.dataset.get("episodes") or len(returns)
    return Episodes(columns, max(int(total), len(returns)))


def thin(episodes: Episodes, limit: int) -> Episodes:
    """At most `limit` episodes, a seeded sample in their old order."""
    if len(episodes) <= limit:
        return episodes
    rows = np.sort(np.random.default_rng(0).choice(len(episodes), limit, replace=False))
    return Episodes(
        {name: values[rows] for name, values in episodes.columns.items()}, episodes.total
    )


def thin_rows(columns: Mapping[str, Any], limit: int) -> dict[str, np.ndarray]:
    """The same for plain columns, such as the points of the calibration."""
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    length = len(next(iter(arrays.values())))
    if length <= limit:
        return arrays
    rows = np.sort(np.random.default_rng(0).choice(length, limit, replace=False))
    return {name: values[rows] for name, values in arrays.items()}


def best_tenth_from(returns: np.ndarray) -> float:
    """The lowest return that counts, at least in part, as one of the best tenth: the tenth of `return_top10`."""
    return float(np.sort(returns)[-math.ceil(TOP_SHARE * len(returns) - 1e-9)])


def top_share_mean(returns: np.ndarray) -> float:
    """Mean of the best tenth as `return_top10` takes it."""
    return float(top_mean(returns, np.ones(len(returns)), TOP_SHARE))


def return_edges(samples: Sequence[np.ndarray], bins: int = 36) -> np.ndarray:
    """Common bin edges for the returns of one or several datasets."""
    everything = np.concatenate(list(samples))
    low, high = float(everything.min()), float(everything.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    enough = int(np.clip(np.sqrt(len(everything)) * 2.2, 6, bins))
    return np.linspace(low, high, enough + 1)


def sparkline(values: np.ndarray, width: int, blocks: str = BLOCKS) -> str:
    """Means of consecutive values as a line of blocks at most `width` wide."""
    groups = np.array_split(values, min(width, len(values)))
    means = np.array([group.mean() for group in groups])
    span = float(np.ptp(means))
    if span == 0:
        return blocks[len(blocks) // 2] * len(means)
    levels = ((means - means.min()) / span * (len(blocks) - 1)).round().astype(int)
    return "".join(blocks[level] for level in levels)
