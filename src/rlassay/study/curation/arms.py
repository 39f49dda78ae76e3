"""Arms of the curation study: what is kept or weighed of a mixture, written once a seed by a task of the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.curation import Rule, apply_rule, weigh, write_weights
from rlassay.data.dataset import Dataset
from rlassay.engine.store import Task

PREPARE_REVISION = 2  # raised whenever an arm chooses other rows
SHARE = 0.5  # of the rows that every filtering arm keeps
RULES: dict[str, Rule] = {
    "return": Rule(keep_rows=SHARE, by="return"),
    "bwd": Rule(keep_rows=SHARE, by="bwd"),
    "advantage": Rule(keep_rows=SHARE, by="advantage"),
    "diverse": Rule(keep_rows=SHARE, by="bwd", diverse=True),
    "diverse-return": Rule(keep_rows=SHARE, by="return", diverse=True),
}
WEIGHTED = {
    "weights-return": "return",
    "weights-advantage": "advantage",
    "weights-value-gap": "value-gap",
}
ARMS = ("full", "random", *RULES, *WEIGHTED)
AGENTS = ("bc", "iql")


@dataclass(frozen=True)
class Grid:
    """What is trained on one mixture."""

    environment: str
    dataset: str
    path: str  # of the mixture
    fingerprint: str
    arms: tuple[str, ...] = ARMS
    agents: tuple[str, ...] = AGENTS
    seeds: int = 3
    preset: str = "default"


# -- preparing the arms ----------------------------------------------------------------------------------------------


def prepare_tasks(grid: Grid) -> list[Task]:
    """One a seed: scores the mixture with that seed and writes every arm's data."""
    reference = {"path": grid.path, "fingerprint": grid.fingerprint}
    return [
        Task(
            "curation-arms",
            "rlassay.study.curation.arms:prepare_task",
            {"arms": list(grid.arms), "seed": seed, "preset": grid.preset, "share": SHARE},
            reference,
            PREPARE_REVISION,
            f"{grid.environment} {grid.dataset} arms seed {seed}",
        )
        for seed in range(grid.seeds)
    ]


def prepare_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: choose and weigh, write into the task's folder, and tell what each arm holds."""
    from rlassay.formats import load

    source = load(data["path"])
    scores = Scores(source, settings["seed"], settings["preset"])
    return {
        arm: _prepare(arm, source, scores, settings["seed"], Path(folder))
        for arm in settings["arms"]
    }


class Scores:
    """Episode and row scores of one mixture and seed, from one critic."""

    def __init__(self, data: Dataset, seed: int, preset: str):
        from rlassay.scoring import assess
        from rlassay.scoring.episodes import rows_under_assay, table_of

        assessment = assess(data, preset=preset, seed=seed)
        self.table = table_of(assessment, ["return", "bwd", "advantage"])
        self.rows = {
            kind: rows_under_assay(assessment, name)
            for kind, name in (("advantage", "advantage"), ("value-gap", "value_gap"))
        }


def _prepare(arm: str, source: Dataset, scores: Scores, seed: int, folder: Path) -> dict[str, Any]:
    from rlassay.formats import save

    data, weights = source, None
    if arm == "random":
        data = source.select(random_half(source, seed))
    elif arm in RULES:
        data = apply_rule(source, RULES[arm], table=scores.table, seed=seed).data
    elif arm in WEIGHTED:
        kind = WEIGHTED[arm]
        weights = str(folder / f"{arm}.weights.npz")
        write_weights(weights, weigh(source, kind, scores.rows.get(kind)))
    path = folder / f"{arm}.npz"
    if data is source:
        path = folder / "full.npz"
    if not path.exists():
        save(data, path)
    return {
        "path": str(path),
        "fingerprint": data.fingerprint,
        "weights": weights,
        "weights_sha256": None if weights is None else _digest(weights),
        "episodes": data.episode_count,
        "transitions": len(data),
        "data_return": float(data.episode_returns.mean()),
    }


def _digest(path: str) -> str:
    with np.load(path) as archive:
        return hashlib.sha256(archive["weights"].tobytes()).hexdigest()


def random_half(data: Dataset, seed: int) -> np.ndarray:
    """Random episodes until they hold the share of rows that the other arms keep."""
    order = np.random.default_rng([seed, 702]).permutation(data.episode_count)
    rows = np.cumsum(data.episode_lengths[order])
    return np.sort(order[: int(np.searchsorted(rows, SHARE * len(data))) + 1])


def describe_rules() -> dict[str, Any]:
    """The arms as they stand in a result's JSON."""
    rules = {arm: rule.to_dict() for arm, rule in RULES.items()}
    return {"rules": rules, "weights": WEIGHTED, "share_of_rows": SHARE}
