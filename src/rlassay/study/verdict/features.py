"""Features of the study's datasets, one task a dataset: what every candidate of docs/verdict.md reads of the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rlassay.data.dataset import Dataset
from rlassay.data.references import reference_for
from rlassay.engine.store import Task
from rlassay.study.grid.cells import Cell
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row
from rlassay.verdict.features import features_of
from rlassay.verdict.forecast import WORLD_LOSS
from rlassay.verdict.modes import modes_of
from rlassay.verdict.parts import best_fifth, best_tenth, return_of_best
from rlassay.verdict.reach import reachable_return

REVISION = 1
COUNTED = (
    *("transitions", "episodes", "observation_dim", "action_dim", "mean_length", "longest"),
    *("coverage", "mean_return", "return_by_step", "lowest", "highest", "deviation"),
)
OF_MODES = ("several_modes", "separation", "lower_share", "lower_mean", "upper_mean")
FITTED = ("reachable", "conflict", "best_tenth", "best_tenth_error")
COLUMNS = ("environment", "dataset", *COUNTED, *OF_MODES, *FITTED, "value")
# Measured later than the others, so in a table of their own: those are not computed again.
REFINED = (WORLD_LOSS, "best_part", "best_part_error")
TASKS = {
    "counted": ("verdict-features", "feature_task"),
    "refined": ("verdict-refined", "refined_task"),
}
REFINED_COLUMNS = ("environment", "dataset", *REFINED, "value")


def feature_cells(datasets: Iterable[StudyData], kind: str = "counted") -> list[Cell]:
    """One cell a dataset; `kind` is one of `TASKS`."""
    name, function = TASKS[kind]
    return [
        Cell(
            Task(
                name,
                f"rlassay.study.verdict.features:{function}",
                {"seed": 0, **_told_apart(data)},
                data.reference,
                REVISION,
                f"{kind} features of {data.environment} {data.name}",
            ),
            {"environment": data.environment, "dataset": data.name},
        )
        for data in datasets
    ]


def _told_apart(data: StudyData) -> dict[str, str]:
    """The identity of data holds the references of its environment: random actions of two that have none would share a key."""
    return {} if reference_for(data.environment) else {"environment": data.environment}


def feature_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side."""
    from rlassay.formats import load

    return all_features(load(data["path"]), settings["seed"])


def refined_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side of what takes longest: a learned world, and a clone of the best part."""
    from rlassay.formats import load
    from rlassay.scoring.refine import measure

    whole, seed = load(data["path"]), settings["seed"]
    found = measure(whole, (WORLD_LOSS, "best_part_error"), seed)
    return {**found, "best_part": return_of_best(whole, best_fifth)}


def refined_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a dataset; `value` says that the cell has run."""
    return [{**result, "value": result["best_part"]}]


def feature_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a dataset; `value` repeats the mean return, which says that the cell has run."""
    return [{**result, "value": result["mean_return"]}]


def all_features(data: Dataset, seed: int) -> dict[str, Any]:
    """Counted features, modes of the returns, and what takes a search or a fit."""
    from rlassay.scoring.refine import measure

    modes = modes_of(data.episode_returns)
    found: dict[str, Any] = features_of(data).to_dict()
    found["several_modes"] = int(modes is not None and modes.several)
    for name in OF_MODES[1:]:
        found[name] = None if modes is None else getattr(modes, name)
    found["reachable"] = reachable_return(data, seed)
    found["best_tenth"] = return_of_best(data, best_tenth)
    return found | measure(data, ("conflict", "best_tenth_error"), seed)
