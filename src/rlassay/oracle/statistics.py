"""What the runs of an oracle say together: means over agents and seeds, an interval, robust middles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

REPLICATES = 2_000  # of the bootstrap over seeds


def interquartile_mean(values: np.ndarray) -> float:
    """Mean of the middle half of all runs, as rliable computes it."""
    return float(stats.trim_mean(np.ravel(values), 0.25))


def mean_of_means(values: Mapping[str, np.ndarray]) -> float:
    """Mean over agents of the mean over seeds."""
    return float(np.mean([v.mean() for v in values.values()]))


def summarise(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The oracle's score and what stands beside it."""
    means = np.array([v.mean() for v in values.values()])
    every = np.concatenate(list(values.values()))
    best = max(values, key=lambda agent: values[agent].mean())
    return {
        "value": float(means.mean()),
        "interval": seed_interval(values),
        "spread": float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        "iqm": interquartile_mean(every),
        "median": float(np.median(means)),
        "best": {"agent": best, "value": float(means.max())},
    }


def seed_interval(values: Mapping[str, np.ndarray]) -> list[float] | None:
    """95 % bootstrap interval of the mean of means, seeds resampled within each agent; None with single seeds."""
    if min(len(v) for v in values.values()) < 2:
        return None
    rng = np.random.default_rng(0)
    drawn = [rng.choice(v, (REPLICATES, len(v))).mean(axis=1) for v in values.values()]
    return np.percentile(np.mean(drawn, axis=0), [2.5, 97.5]).tolist()


def table_row(values: np.ndarray) -> dict[str, Any]:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return {"mean": float(values.mean()), "deviation": deviation, "runs": values.tolist()}
