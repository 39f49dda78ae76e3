"""Figure 1: TD3+BC between cloning and value, over twelve weights of the value, per level of the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import Profile
from rlassay.study.grid.sweep import run_sweep, write_sweep

LEVELS = ("level-50k", "level-200k", "level-600k", "level-1000k", "medium-replay")
WITHOUT_CLONING = 1e6  # the cloning term is a millionth of the value's: "infinite"
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, WITHOUT_CLONING)


def weight_name(weight: float) -> str:
    """How a weight is written in tables."""
    return "inf" if weight == WITHOUT_CLONING else f"{weight:g}"


def cells(environment: str, profile: Profile, zoo: Path, report: Report) -> list[Cell]:
    """Every level and weight; the paper uses three seeds, `lite` one."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.training import training_cells

    data, seeds = study_data(environment, LEVELS, profile, zoo, report), range(profile.oracle_seeds)
    return [
        cell
        for weight in WEIGHTS
        for cell in training_cells(
            data.values(),
            ["td3bc"],
            seeds,
            profile.name,
            {"td3bc.value_weight": weight},
            weight_name(weight),
        )
    ]


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing and export."""
    return run_sweep("fig1", cells, results, profile, zoo, report)


def render(results: Path) -> str:
    """Mean score by weight and level, as Markdown, CSV and figure."""
    rows = table_rows(read_runs("fig1", results))
    names = [weight_name(weight) for weight in WEIGHTS]
    _draw(rows, results / "fig1" / "figure.svg")
    return write_sweep("fig1", results, rows, ["environment", "dataset", *names, "best_weight"])


def table_rows(runs: Sequence[Row]) -> list[Row]:
    """One row a level: the mean over seeds at every weight, and the best weight (chosen on the same runs)."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for run_row in runs:
        cell = found.setdefault((run_row["environment"], run_row["dataset"]), {})
        if run_row["score"] is not None:
            cell.setdefault(_variant(run_row), []).append(run_row["score"])
    rows = []
    for (environment, dataset), scores in found.items():
        means = {name: float(np.mean(values)) for name, values in scores.items()}
        best = max(means, key=lambda name: means[name]) if means else None
        rows.append({"environment": environment, "dataset": dataset, **means, "best_weight": best})
    return rows


def _variant(row: Row) -> str:
    """Tables are read with numbers as floats; `inf` stands for the largest weight."""
    value = row["variant"]
    return "inf" if value in ("inf", float("inf")) else f"{float(value):g}"


def _draw(rows: Sequence[Row], path: Path) -> None:
    from rlassay.study.figures import draw_lines

    names = [weight_name(weight) for weight in WEIGHTS]
    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        points = [
            (float(k), row[name]) for k, name in enumerate(names) if row.get(name) is not None
        ]
        if points:
            series.setdefault(row["environment"], {})[row["dataset"]] = points
    draw_lines(
        series,
        path,
        xlabel="weight of the value (0 clones, inf does not)",
        ylabel="normalised return (0 to 100)",
        ticks=names,
    )
