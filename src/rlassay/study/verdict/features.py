"""Features of the study's datasets, one task a dataset: what every candidate of docs/verdict.md reads of the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.engine.store import Task
from rlassay.study.grid.cells import Cell
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row
from rlassay.verdict.features import features_of
from rlassay.verdict.modes import modes_of
from rlassay.verdict.reach import FIRST_STEPS, reachable_return

REVISION = 1
BEST_TENTH = 0.1
HELD_OUT = 0.2  # of the episodes, in every cloning error
COUNTED = (
    *("transitions", "episodes", "observation_dim", "action_dim", "mean_length", "longest"),
    *("coverage", "mean_return", "return_by_step", "lowest", "highest", "deviation"),
)
OF_MODES = ("several_modes", "separation", "lower_share", "lower_mean", "upper_mean")
FITTED = ("reachable", "conflict", "best_tenth", "best_tenth_error")
COLUMNS = ("environment", "dataset", *COUNTED, *OF_MODES, *FITTED, "value")


def feature_cells(datasets: Iterable[StudyData]) -> list[Cell]:
    """One cell a dataset."""
    return [
        Cell(
            Task(
                "verdict-features",
                "rlassay.study.verdict.features:feature_task",
                {"seed": 0},
                data.reference,
                REVISION,
                f"features of {data.environment} {data.name}",
            ),
            {"environment": data.environment, "dataset": data.name},
        )
        for data in datasets
    ]


def feature_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side."""
    from rlassay.formats import load

    return all_features(load(data["path"]), settings["seed"])


def feature_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a dataset; `value` repeats the mean return, which says that the cell has run."""
    return [{**result, "value": result["mean_return"]}]


def all_features(data: Dataset, seed: int) -> dict[str, Any]:
    """Counted features, modes of the returns, and what takes a search or a fit."""
    modes = modes_of(data.episode_returns)
    found: dict[str, Any] = features_of(data).to_dict()
    found["several_modes"] = int(modes is not None and modes.several)
    for name in OF_MODES[1:]:
        found[name] = None if modes is None else getattr(modes, name)
    best = best_part(data, BEST_TENTH)
    return found | {
        "reachable": reachable_return(data, seed),
        "conflict": cloning_error(data, seed, first_steps=FIRST_STEPS),
        "best_tenth": float(best.episode_returns.mean()),
        "best_tenth_error": cloning_error(best, seed),
    }


def best_part(data: Dataset, share: float) -> Dataset:
    """The episodes of highest return, in their order in the file; never fewer than two."""
    count = min(max(2, int(np.ceil(share * data.episode_count))), data.episode_count)
    best = np.argsort(-data.episode_returns, kind="stable")[:count]
    return data.select(np.sort(best))


def cloning_error(data: Dataset, seed: int, first_steps: int | None = None) -> float:
    """Share of the action that the state does not explain on held-out episodes, or on their first steps; 0 to 1."""
    from rlassay.critic.model import Scaling
    from rlassay.critic.targets import split_rows
    from rlassay.scoring.policies import fit_policies
    from rlassay.scoring.settings import BaselineSettings

    settings, scaling = BaselineSettings(), Scaling.of(data)
    settings = replace(settings, fit_rows=min(settings.fit_rows, len(data)))
    rows, held = split_rows(data, settings.fit_rows, HELD_OUT, seed)
    states, actions = scaling.observations(data.observations), data.actions
    policies = fit_policies(
        states[rows], actions[rows], scaling.actions(actions[rows]), settings, [seed]
    )
    if first_steps is not None:
        steps = held - data.episode_starts[data.episode_index[held]]
        held = held[steps < first_steps]
    errors = policies.cloning_errors(0, states[held], actions[held])
    return float(np.clip(errors.mean(), 0.0, 1.0)) if len(held) else 0.0
