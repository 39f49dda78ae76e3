"""What a curation does to the scores of the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset


def counted(data: Dataset) -> dict[str, Any]:
    """What needs no critic: sizes, mean reward and mean return."""
    described: dict[str, Any] = {
        "episodes": data.episode_count,
        "transitions": len(data),
        "scores": {},
    }
    if data.rewards is not None:
        described["scores"] = {
            "reward": {"value": float(data.rewards.mean(dtype=np.float64))},
            "return": {"value": float(data.episode_returns.mean())},
        }
    return described


def compared(
    before: Dataset, after: Dataset, scores: Sequence[str] | None = None, **scoring: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every score of both, as `rlassay compare` computes them: one scaling and one epsilon for both."""
    from rlassay import compare

    comparison = compare([before, after], scores=scores, **scoring)
    described = []
    for data, card in zip((before, after), comparison.cards, strict=True):
        values = {
            name: {"value": score.value, "interval": score.interval, "direction": score.direction}
            for name, score in card.scores.items()
        }
        described.append(
            {"episodes": data.episode_count, "transitions": len(data), "scores": values}
        )
    return described[0], described[1]
