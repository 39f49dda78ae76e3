"""Training cells: one agent on one dataset with one seed, as the oracle trains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.oracle import make_task, settings_of
from rlassay.study.grid.cells import Cell, Report, export_cells, run_cells
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row

COLUMNS = (
    "environment",
    "dataset",
    "agent",
    "variant",
    "seed",
    "updates",
    "score",
    "return",
    "half_score",
    "diverged_at",
    "seconds",
    "revision",
)
CURVE_COLUMNS = ("environment", "dataset", "agent", "variant", "seed", "updates", "score")
# What the long grid says besides: it is computed over weeks, by more than one state of the source.
LONG_COLUMNS = (*COLUMNS, "evaluation_seconds", "commit", "policy_sha256")
LONG_CURVE_COLUMNS = (*CURVE_COLUMNS, "episodes", "deviation")


def training_cells(
    datasets: Iterable[StudyData],
    agents: Sequence[str],
    seeds: Iterable[int],
    profile: str,
    changes: Mapping[str, Any] | None = None,
    variant: str = "",
    discrete: bool = False,
) -> list[Cell]:
    """Every dataset with every agent and seed; datasets come first, so that a whole one is done before the next."""
    settings = settings_of(agents, profile, changes or {}, discrete)
    cells = []
    for data in datasets:
        for agent in agents:
            for seed in seeds:
                asked = agent, settings[agent], data.environment, seed, data.reference
                task = make_task(*asked, discrete)
                columns = {
                    "environment": data.environment,
                    "dataset": data.name,
                    "agent": agent,
                    "variant": variant,
                    "seed": seed,
                    "revision": task.revision,
                }
                label = (
                    f"{data.environment} {data.name} {agent}{variant and ' ' + variant} seed {seed}"
                )
                cells.append(Cell(replace(task, label=label), columns))
    return cells


def run_trainings(
    folder: Path,
    cells: Sequence[Cell],
    about: Mapping[str, Any],
    report: Report,
    columns: Sequence[str] = COLUMNS,
    curve_columns: Sequence[str] = CURVE_COLUMNS,
) -> list[str]:
    """Train what is missing; the tables of the folder grow with every run."""
    return run_cells(
        cells,
        table=folder / "runs.csv",
        export=lambda: export_runs(folder, cells, about, columns, curve_columns),
        report=report,
    )


def export_runs(
    folder: Path,
    cells: Sequence[Cell],
    about: Mapping[str, Any],
    columns: Sequence[str] = COLUMNS,
    curve_columns: Sequence[str] = CURVE_COLUMNS,
) -> None:
    """`runs.csv` with the score of every run, `curves.csv` with all its evaluations."""
    revisions = sorted({cell.task.revision for cell in cells})
    described = {**about, "revisions": revisions}
    export_cells(folder / "runs.csv", cells, columns, training_rows, described)
    export_cells(folder / "curves.csv", cells, curve_columns, curve_rows, about)


def training_rows(cell: Cell, run: Mapping[str, Any]) -> list[Row]:
    """The run's score, of its last evaluations and never the best, and the evaluation at half of the budget."""
    return [
        {
            "updates": run["updates"],
            "score": None if run["score"] is None else run["score"]["value"],
            "return": run["return"]["value"],
            "half_score": _at_half(run),
            "diverged_at": run["diverged_at"],
            "seconds": run["seconds"]["total"],
            "evaluation_seconds": run["seconds"].get("evaluation"),
            "commit": run["software"].get("commit"),
            "policy_sha256": run.get("policy_sha256"),
        }
    ]


def curve_rows(cell: Cell, run: Mapping[str, Any]) -> list[Row]:
    """Every evaluation of a run."""
    reference = run["reference"]
    points_a_return = 100 / (reference["high"] - reference["low"]) if reference else None
    return [
        {
            "updates": point["update"],
            "score": point["score"],
            "episodes": len(point["returns"]),
            "deviation": points_a_return and float(points_a_return * np.std(point["returns"])),
        }
        for point in run["curve"]
    ]


def _at_half(run: Mapping[str, Any]) -> float | None:
    half = [point for point in run["curve"] if point["update"] <= run["updates"] / 2]
    return half[-1]["score"] if half else None
