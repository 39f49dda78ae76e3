"""All scores of all datasets of an environment, one task an environment and seed: they share one pooled epsilon.

A result depends on every setting that was used, on the revisions of critic, transport and scores, and on the data. Its key
holds whatever of these differs from version 0.1, whose settings are frozen below: so the keys of committed rows stay, and
a new default makes a new key. A setting added since is left out while it has the value that reproduces the old numbers
(`rlassay.settings.added_later`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.store import Task
from rlassay.settings import identifying
from rlassay.study.grid.cells import Cell
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row

REVISION = 1
# What scoring did when the first rows were committed. Never changed: today's settings are compared with it.
FIRST_SETTINGS: dict[str, Any] = {
    "critic.method": "lambda",
    "critic.discount": 0.99,
    "critic.steps": 10_000,
    "critic.batch_size": 256,
    "critic.hidden": [256],
    "critic.learning_rate": 1e-3,
    "critic.decay": True,
    "critic.trace_decay": 0.99,
    "critic.refresh": 2_000,
    "critic.target_rate": 1.0,
    "critic.rows": 100_000,
    "critic.holdout": 0.2,
    "transport.estimator": "exact",
    "transport.cost": "paper",
    "transport.gap_weight": 1.0,
    "transport.k": 1,
    "transport.epsilon": None,
    "transport.regulariser": "entropic",
    "transport.random_policy": "uniform",
    "transport.potentials": "free",
    "transport.steps": 10_000,
    "transport.batch_size": 256,
    "transport.hidden": 256,
    "transport.learning_rate": 2e-3,
    "transport.states": 20_000,
    "transport.anchors": 2_000,
    "transport.neighbours": 32,
    "transport.neighbour_pool": 50_000,
    "transport.per_episode": 2,
    "evaluation.share": 0.5,
    "evaluation.replicates": 400,
    "baselines.fit_steps": 3_000,
    "baselines.fit_batch_size": 256,
    "baselines.fit_learning_rate": 1e-3,
    "baselines.fit_rows": 50_000,
    "baselines.bins": 5,
    "baselines.neighbours": 4,
    "baselines.neighbour_rows": 4_000,
}
FIRST_REVISIONS = {"critic": 1, "transport": 1}
# The scores of the first results, in the order of their key: whatever is registered since is asked for in other cells.
FIRST_SCORES = (
    *("reward", "return", "return_top10", "tq", "eri", "rpsv", "saco"),
    *("eas", "bc_error", "extractable", "knn_entropy", "q", "advantage", "pd"),
    *("bwd", "bwd.exact", "bwd.dual", "bwd.tail", "bwd.sinkhorn"),
)
COLUMNS = ("environment", "dataset", "score_name", "seed", "discount", "value", "converged")


def score_cells(
    environment: str,
    datasets: Sequence[StudyData],
    seeds: int,
    scores: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """One cell a seed: `compare` over all datasets of the environment."""
    from rlassay.scoring import SCORES, plan

    names, changes = list(scores or SCORES), dict(settings or {})
    asked = {
        "datasets": sorted(data.name for data in datasets),
        "identities": {data.name: data.identity for data in datasets},
        "scores": names,
        "revisions": used_revisions(names),
        "settings": used_settings(changes),
    }
    paths = {data.name: str(data.path) for data in datasets}
    discount = plan("default", changes).settings.critic.discount
    return [
        Cell(
            Task(
                "study-scores",
                "rlassay.study.scoring:score_task",
                {**asked, "seed": seed},
                {"paths": paths, "fingerprint": environment, "changes": changes},
                REVISION,
                f"scores of {environment}, seed {seed}, discount {discount}",
            ),
            {"environment": environment, "seed": seed, "discount": discount},
        )
        for seed in range(seeds)
    ]


def used_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting that scoring would use, where it differs from the first results; and a cost that was named."""
    from rlassay.scoring import plan

    chosen = plan("default", changes).settings
    used = identifying(chosen)
    differing = {key: value for key, value in used.items() if not _as_at_first(key, value)}
    if "transport.cost" in changes:  # a named cost holds for every estimator, also for `tail`
        differing["transport.cost"] = chosen.transport.cost
    return differing


def _as_at_first(key: str, value: Any) -> bool:
    return key in FIRST_SETTINGS and FIRST_SETTINGS[key] == value


def used_revisions(scores: Sequence[str]) -> dict[str, int]:
    """The revision of every score, and of critic and transport once they differ from the first results."""
    from rlassay import critic, transport
    from rlassay.scoring import SCORES

    rooms = {"critic": critic.REVISION, "transport": transport.REVISION}
    newer = {name: number for name, number in rooms.items() if number != FIRST_REVISIONS[name]}
    return {name: SCORES[name].revision for name in scores} | newer


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: values of every score and dataset, and what went wrong."""
    from rlassay.scoring import compare

    names = settings["datasets"]
    comparison = compare(
        [data["paths"][name] for name in names],
        seeds=1,
        seed=settings["seed"],
        scores=settings["scores"],
        settings=data["changes"],
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
