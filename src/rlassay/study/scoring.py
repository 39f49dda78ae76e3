"""All scores of all datasets of an environment, one task an environment and seed: they share one pooled epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.store import Task
from rlassay.study.grid.cells import Cell
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import DEFAULT_DISCOUNT

REVISION = 1
COLUMNS = ("environment", "dataset", "score_name", "seed", "discount", "value", "converged")


def score_cells(
    environment: str,
    datasets: Sequence[StudyData],
    seeds: int,
    scores: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """One cell a seed: `compare` over all datasets of the environment."""
    from rlassay.scores import SCORES

    names = list(scores or SCORES)
    asked = {
        "datasets": {data.name: str(data.path) for data in datasets},
        "identities": {data.name: data.identity for data in datasets},
        "scores": names,
        "revisions": {name: SCORES[name].revision for name in names},
        "settings": dict(settings or {}),
    }
    discount = asked["settings"].get("critic.discount", DEFAULT_DISCOUNT)
    return [
        Cell(
            Task(
                "study-scores",
                "rlassay.study.scoring:score_task",
                {**asked, "seed": seed, "datasets": sorted(asked["datasets"])},
                {"paths": asked["datasets"], "fingerprint": environment},
                REVISION,
                f"scores of {environment}, seed {seed}, discount {discount}",
            ),
            {"environment": environment, "seed": seed, "discount": discount},
        )
        for seed in range(seeds)
    ]


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: values of every score and dataset, and what went wrong."""
    from rlassay.assay import compare

    names = settings["datasets"]
    comparison = compare(
        [data["paths"][name] for name in names],
        seeds=1,
        seed=settings["seed"],
        scores=settings["scores"],
        settings=settings["settings"],
        force=True,
    )
    return {
        name: {
            "scores": {key: [score.value, score.converged] for key, score in card.scores.items()},
            "seconds": dict(card.seconds),
            "warnings": [warning.code for warning in card.warnings],
        }
        for name, card in zip(names, comparison.cards, strict=True)
    }


def score_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a dataset and score; a score whose inputs are missing is an empty cell."""
    wanted = cell.task.settings["scores"]
    rows = []
    for dataset, card in result.items():
        for name in wanted:
            value, converged = card["scores"].get(name, (None, None))
            rows.append(
                {"dataset": dataset, "score_name": name, "value": value, "converged": converged}
            )
    return rows
