"""Can an episode score tell good episodes from bad ones? Area under the ROC curve with hidden labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.local import Engine, LocalEngine
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SolverError
from rlassay.study.grid.files import Row

REVISION = 1
GOOD = "expert"
BAD = ("random", "noisy", "corrupted")
SCORES = (
    "return", "reward", "q", "advantage", "pd", "bwd.exact", "bwd.tail", "value_gap", "random_distance", "bc_surprise",
    "coverage",
)  # fmt: skip
COLUMNS = ("environment", "score", "against", "auc", "low", "high", "seeds", "episodes")
REPLICATES = 2_000


def area_under_curve(good: np.ndarray, bad: np.ndarray) -> float:
    """Probability that a good episode scores above a bad one, ties counted half (Mann and Whitney)."""
    ranks = _mean_ranks(np.concatenate([good, bad]))
    return float(
        (ranks[: len(good)].sum() - len(good) * (len(good) + 1) / 2) / (len(good) * len(bad))
    )


def _mean_ranks(values: np.ndarray) -> np.ndarray:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: every score of every episode, turned so that higher is better."""
    from rlassay.episodes import episode_scores
    from rlassay.formats import load

    table = episode_scores(
        load(data["path"]),
        scores=settings["scores"],
        preset=settings["preset"],
        seed=settings["seed"],
    )
    return {name: table.goodness(name).tolist() for name in settings["scores"]}


def detect(
    environment: str,
    data: Mapping[str, str],
    labels: np.ndarray,
    *,
    seeds: int = 3,
    preset: str = "default",
    engine: Engine | None = None,
    store: RunStore | None = None,
) -> list[Row]:
    """AUC of every score for experts against each kind of bad episode, and against all of them."""
    tasks = [
        Task(
            "detection", "rlassay.study.curation.detection:score_task",
            {"scores": list(SCORES), "preset": preset, "seed": seed}, data, REVISION, f"detection seed {seed}",
        )
        for seed in range(seeds)
    ]  # fmt: skip
    outcomes = (engine or LocalEngine()).run(tasks, store or RunStore())
    for outcome in outcomes:
        if outcome.result is None:
            raise SolverError(f"the detection study failed: {outcome.failure}")
    tables = [outcome.result for outcome in outcomes]
    return [
        _row(environment, name, against, [np.asarray(t[name]) for t in tables if t], labels)
        for name in SCORES
        for against in (*BAD, "all")
    ]


def pivot(rows: Sequence[Row]) -> list[Row]:
    """One row a score, one column an environment and kind of bad episode."""
    found: dict[str, Row] = {}
    for row in rows:
        if row["against"] in BAD:
            column = f"{row['environment']} {row['against']}"
            found.setdefault(row["score"], {"score": row["score"]})[column] = row["auc"]
    return list(found.values())


def _row(
    environment: str, name: str, against: str, goodness: Sequence[np.ndarray], labels: np.ndarray
) -> Row:
    good = np.flatnonzero(labels == GOOD)
    bad = np.flatnonzero(labels != GOOD if against == "all" else labels == against)
    low, high = auc_interval(goodness, good, bad)
    return {
        "environment": environment,
        "score": name,
        "against": against,
        "auc": float(np.mean([area_under_curve(g[good], g[bad]) for g in goodness])),
        "low": low,
        "high": high,
        "seeds": len(goodness),
        "episodes": len(good) + len(bad),
    }


def auc_interval(
    goodness: Sequence[np.ndarray], good: np.ndarray, bad: np.ndarray
) -> tuple[float, float]:
    """95 % percentile interval over resampled episodes and scoring seeds."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(REPLICATES):
        drawn = goodness[int(rng.integers(len(goodness)))]
        values.append(
            area_under_curve(drawn[rng.choice(good, len(good))], drawn[rng.choice(bad, len(bad))])
        )
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
