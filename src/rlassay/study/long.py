"""The long oracle: every agent trained until it has come to rest, on all mixtures first; rules in docs/study.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rlassay.assay.measure import discounted
from rlassay.data.references import reference_for
from rlassay.engine.files import write_atomically
from rlassay.oracle import LONG_AGENTS, PROFILES
from rlassay.scores import SCORES
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, read_table, write_table
from rlassay.study.grid.plan import (
    ENVIRONMENTS,
    FRESH_MIXTURES,
    LONG,
    ORACLE_DATASETS,
    PANELS,
    Profile,
)
from rlassay.study.analysis.questions import (
    Grid,
    forecast_rows,
    jackknife_rows,
    make_grid,
    question_rows,
    reliability_over_agents,
    reliability_over_seeds,
    when_rows,
)
from rlassay.study.analysis.rest import curves_by_run, rest_rows, rest_summary

MIXTURES = (*PANELS["mixtures"], *FRESH_MIXTURES)
DEFAULT_DISCOUNT = 0.99
LONG_UPDATES = PROFILES["long"]["*"]["updates"]
OTHERS = tuple(name for name in ORACLE_DATASETS if name not in MIXTURES)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing, in the order of the plan; its budget is `long`, whatever profile is named."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.table1 import available, describe
    from rlassay.study.grid.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    data = {
        environment: study_data(environment, (*MIXTURES, *OTHERS), LONG, zoo, report)
        for environment in available(zoo)
    }
    about = {**describe("long", LONG), "agents": list(LONG_AGENTS)}
    cells = long_cells(data)
    return run_trainings(results / "long", cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def long_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """(a) the mixtures, (b) the other datasets, (c) the mixtures once more with another seed."""
    from rlassay.study.grid.training import training_cells

    def part(names: Sequence[str], seed: int) -> list[Cell]:
        ordered = [datasets[name] for name in names for datasets in data.values()]
        return training_cells(ordered, LONG_AGENTS, [seed], LONG.name)

    return part(MIXTURES, 0) + part(OTHERS, 0) + part(MIXTURES, 1)


def render(results: Path) -> str:
    """What the rules ask, once every mixture is complete; until then only how far the grid is (rule 2)."""
    folder, runs = results / "long", read_runs("long", results)
    text = _progress(runs) + f"\nEvaluation took {evaluation_share(runs):.1%} of the time.\n"
    grid = make_grid(scores_on_d4rl_scale(results), runs, LONG_AGENTS)
    mixtures = grid.restrict(np.isin(grid.datasets, MIXTURES))
    if len(mixtures.datasets) == len(MIXTURES) * len(ENVIRONMENTS):
        text += _answers(folder, grid, mixtures, runs)
    write_atomically(folder / "table.md", text)
    return text


def _progress(runs: Sequence[Row]) -> str:
    """How many runs of each part are done."""
    rows = []
    for part, names, seed in (
        ("(a) mixtures", MIXTURES, 0),
        ("(b) others", OTHERS, 0),
        ("(c) mixtures, seed 1", MIXTURES, 1),
    ):
        mine = [run for run in runs if run["dataset"] in names and run["seed"] == seed]
        done = sum(run["score"] is not None for run in mine)
        diverged = sum(run["diverged_at"] is not None for run in mine)
        rows.append({"part": part, "runs": len(mine), "done": done, "diverged": diverged})
    return markdown_table(rows, ["part", "runs", "done", "diverged"])


def evaluation_share(runs: Sequence[Row]) -> float:
    """The share of the training time that evaluations took, over all runs."""
    done = [run for run in runs if run["seconds"] is not None]
    total = sum(run["seconds"] for run in done)
    return sum(run["evaluation_seconds"] for run in done) / total if total else 0.0


def scores_on_d4rl_scale(results: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Scores of all datasets, means over scoring seeds at the default discount, in points of the normalised score."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for study in ("table1", "confirm"):
        for row in read_table(results / study / "scores.csv"):
            if row["value"] is not None and row["discount"] == DEFAULT_DISCOUNT:
                cell = values.setdefault((row["environment"], row["dataset"]), {})
                cell.setdefault(row["score_name"], []).append(row["value"])
    return {
        key: {
            name: points
            for name, found in cell.items()
            if (points := _points(key[0], name, float(np.mean(found)))) is not None
        }
        for key, cell in values.items()
    }


def _points(environment: str, name: str, value: float) -> float | None:
    """A score on D4RL's scale, 0 to 100; none where it has no place there."""
    reference, spec = reference_for(environment), SCORES.get(name)
    if reference is None or spec is None or spec.relative is None:
        return None
    if spec.relative == "return":
        return float(reference.normalise(value))
    low, high = discounted(reference, DEFAULT_DISCOUNT) or (np.nan, np.nan)
    return 100 * (value - low) / (high - low)


def _answers(folder: Path, grid: Grid, mixtures: Grid, runs: Sequence[Row]) -> str:
    """Tables of every question, each as CSV and Markdown."""
    curves = read_table(folder / "curves.csv")
    panels = {"mixtures": mixtures} | (
        {"all": grid} if len(grid.datasets) > len(mixtures.datasets) else {}
    )
    resting = rest_rows(curves)
    tables = {
        "questions": [row for name, part in panels.items() for row in question_rows(part, name)],
        "forecasts": [row for name, part in panels.items() for row in forecast_rows(part, name)],
        "jackknife": [row for name, part in panels.items() for row in jackknife_rows(part, name)],
        "reliability": _reliability(panels, runs),
        "rest": resting,
        "rest_by_agent": rest_summary(resting),
        "when": when_rows(mixtures, _mean_curves(curves), {"onestep": 0.8 * LONG_UPDATES}),
    }
    about = {"command": "rlassay study long", "datasets": len(grid.datasets)}
    text = ""
    for name, rows in tables.items():
        write_table(folder / f"{name}.csv", rows, list(rows[0]), about)
        if name not in ("rest", "when"):
            text += f"\n### {name.replace('_', ' ').capitalize()}\n\n" + markdown_table(
                rows, list(rows[0])
            )
    return text


def _reliability(panels: Mapping[str, Grid], runs: Sequence[Row]) -> list[Row]:
    """The noise ceiling of every panel: the square root of the oracle's reliability."""
    rows: list[Row] = []
    for panel, grid in panels.items():
        found = reliability_over_agents(grid)
        rows.append(
            {
                "panel": panel,
                "halves": "agents",
                "n": len(grid.datasets),
                "reliability": found,
                "ceiling": found**0.5,
            }
        )
    both = reliability_over_seeds([run for run in runs if run["dataset"] in MIXTURES], LONG_AGENTS)
    if both is not None:
        rows.append(
            {
                "panel": "mixtures",
                "halves": "seeds",
                "n": both[1],
                "reliability": both[0],
                "ceiling": both[0] ** 0.5,
            }
        )
    return rows


def _mean_curves(curves: Sequence[Row]) -> dict[tuple[str, str, str], dict[float, float]]:
    """Mean over seeds of every evaluation, by environment, dataset and agent."""
    found: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    for (environment, dataset, agent, _), points in curves_by_run(curves).items():
        cell = found.setdefault((environment, dataset, agent), {})
        for updates, score in points:
            cell.setdefault(updates, []).append(score)
    return {key: {u: float(np.mean(v)) for u, v in cell.items()} for key, cell in found.items()}
