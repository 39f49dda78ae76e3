"""Training cells: one agent on one dataset with one seed, as the oracle trains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlassay.oracle import make_task, settings_of
from rlassay.study.cells import Cell, Report, export_cells, run_cells
from rlassay.study.data import StudyData
from rlassay.study.files import Row

COLUMNS = (
    "environment", "dataset", "agent", "variant", "seed", "updates", "score", "return", "half_score", "diverged_at",
    "seconds", "revision",
)  # fmt: skip
CURVE_COLUMNS = ("environment", "dataset", "agent", "variant", "seed", "updates", "score")


def training_cells(
    datasets: Iterable[StudyData],
    agents: Sequence[str],
    seeds: int,
    profile: str,
    changes: Mapping[str, Any] | None = None,
    variant: str = "",
) -> list[Cell]:
    """Every dataset with every agent and seed; datasets come first, so that a whole one is done before the next."""
    settings = settings_of(agents, profile, changes or {})
    cells = []
    for data in datasets:
        for agent in agents:
            for seed in range(seeds):
                task = make_task(agent, settings[agent], data.environment, seed, data.reference)
                columns = {
                    "environment": data.environment, "dataset": data.name, "agent": agent,
                    "variant": variant, "seed": seed, "revision": task.revision,
                }  # fmt: skip
                label = (
                    f"{data.environment} {data.name} {agent}{variant and ' ' + variant} seed {seed}"
                )
                cells.append(Cell(replace(task, label=label), columns))
    return cells


def run_trainings(
    folder: Path, cells: Sequence[Cell], about: Mapping[str, Any], report: Report
) -> list[str]:
    """Train what is missing; the tables of the folder grow with every run."""
    return run_cells(
        cells,
        table=folder / "runs.csv",
        export=lambda: export_runs(folder, cells, about),
        report=report,
    )


def export_runs(folder: Path, cells: Sequence[Cell], about: Mapping[str, Any]) -> None:
    """`runs.csv` with the last evaluation of every run, `curves.csv` with all of them."""
    revisions = sorted({cell.task.revision for cell in cells})
    export_cells(
        folder / "runs.csv", cells, COLUMNS, training_rows, {**about, "revisions": revisions}
    )
    export_cells(folder / "curves.csv", cells, CURVE_COLUMNS, curve_rows, about)


def training_rows(cell: Cell, run: Mapping[str, Any]) -> list[Row]:
    """The run's last evaluation, never its best, and the one at half of the budget."""
    return [
        {
            "updates": run["updates"],
            "score": None if run["score"] is None else run["score"]["value"],
            "return": run["return"]["value"],
            "half_score": _at_half(run),
            "diverged_at": run["diverged_at"],
            "seconds": run["seconds"]["total"],
        }
    ]


def curve_rows(cell: Cell, run: Mapping[str, Any]) -> list[Row]:
    """Every evaluation of a run."""
    return [{"updates": point["update"], "score": point["score"]} for point in run["curve"]]


def _at_half(run: Mapping[str, Any]) -> float | None:
    half = [point for point in run["curve"] if point["update"] <= run["updates"] / 2]
    return half[-1]["score"] if half else None
