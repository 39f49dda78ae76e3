"""The first correlation on data that nobody here made: eight Pendulum datasets of five projects, scores and oracle.

`scripts/real_pendulum.py` writes the datasets in one unit of action; they are no part of this repository.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError, SettingsError
from rlassay.study.analysis.correlate import (
    correlation_columns,
    correlation_rows,
    mean_over_agents,
)
from rlassay.study.analysis.points import join_scores
from rlassay.study.grid.cells import Report, run_table
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, read_table, write_table
from rlassay.study.grid.plan import AGENTS, Profile

ENVIRONMENT = "Pendulum-v1"
COMMAND = "rlassay study real --data DIR --run"
BUDGET: Mapping[str, Any] = {"updates": 4_000, "eval_every": 2_000, "eval_episodes": 20}
SEEDS = 1  # of every training
SCORE_SEEDS = 1
SETS = "SETS.json"  # what was done to every dataset, beside them
SET_COLUMNS = (
    "name",
    "repository",
    "path",
    "commit",
    "rows",
    "episodes",
    "mean_return",
    "recorded_low",
    "recorded_high",
    "factor",
    "clipped_rows",
    "terminals_made_timeouts",
    "median_torque_error",
)

COMPARED = (
    "return",
    "return_top10",
    "q",
    "bwd.exact",
    "bwd.tail",
    "saco",
    "bc_error",
    "extractable",
)
ALL_SETS, WITHOUT_LOWEST = "all sets", "without the lowest set"  # the second came after a look
COUNTS = ("rows", "episodes", "clipped_rows", "terminals_made_timeouts")
SHOWN = ("name", "repository", "rows", "episodes", "mean_return", "factor", "clipped_rows")


def run(
    results: Path, profile: Profile, zoo: Path, report: Report, data: Path | None = None
) -> list[str]:
    """Score and train on every dataset of the folder `data`; the budget is this study's own."""
    from rlassay.study.grid.training import run_trainings, training_cells

    folder, about = results / "real", {"command": COMMAND, "budget": dict(BUDGET)}
    described, datasets = read_sets(data)
    write_table(folder / "sets.csv", described, SET_COLUMNS, {"complete": True, **about})
    cells = training_cells(datasets, AGENTS, range(SEEDS), "lite", BUDGET)
    failures = run_trainings(folder, cells, about, report)
    return failures + _run_scores(folder, datasets, about, report)


def _run_scores(
    folder: Path, datasets: Sequence[StudyData], about: Row, report: Report
) -> list[str]:
    from rlassay.study.scoring import COLUMNS, score_cells, score_rows

    cells, table = score_cells(ENVIRONMENT, datasets, SCORE_SEEDS), folder / "scores.csv"
    return run_table(table, cells, COLUMNS, score_rows, about, report)


def read_sets(folder: Path | None) -> tuple[list[Row], list[StudyData]]:
    """The description of every set, and the sets; a folder without one of its files is refused."""
    from rlassay.formats import load

    if folder is None:
        raise SettingsError(
            "the datasets of the study are not part of the project",
            remedy="write them with scripts/real_pendulum.py and name their folder: --data DIR",
        )
    described = folder / SETS
    if not described.is_file():
        raise DatasetError(
            f"{folder} has no {SETS}",
            remedy=f"write it with: python scripts/real_pendulum.py --root FILES --out {folder}",
        )
    rows = json.loads(described.read_text())
    found = []
    for row in rows:
        path = folder / f"{row['name']}.npz"
        mark = load(path).fingerprint
        found.append(StudyData(ENVIRONMENT, row["name"], path, mark, mark[:24]))
    return rows, found


def render(results: Path) -> str:
    """Tables of the sets and of the agents' returns, and the correlations, once all agents have run on all sets."""
    folder = results / "real"
    runs, scores = read_table(folder / "runs.csv"), read_table(folder / "scores.csv")
    reached, sets = returns_reached(runs), read_table(folder / "sets.csv")
    described = "### The sets\n\n" + markdown_table(map(_counted, sets), SHOWN)
    text = "### Scores, with one epsilon for all sets\n\n" + _scores_table(scores)
    text += "\n### Returns that the agents reach\n\n" + _agents_table(runs, reached)
    scored = {row["dataset"] for row in scores if row["value"] is not None}
    if len(reached) < len(sets) or len(scored) < len(sets):
        return f"{described}\n{text}\n{len(reached)} of {len(sets)} sets have all agents; no correlation is shown before the last.\n"
    points = join_scores(scores, reached)
    others = points.restrict(
        points.y > points.y.min()
    )  # one set lies far below: what remains without it?
    rows = correlation_rows(points, ALL_SETS) + correlation_rows(others, WITHOUT_LOWEST)
    about = {"command": "rlassay study real", "complete": True, "datasets": len(reached)}
    write_table(folder / "correlations.csv", rows, correlation_columns(), about)
    for kind, panel in itertools.product(("pearson", "spearman"), (ALL_SETS, WITHOUT_LOWEST)):
        shown = [row for row in rows if (row["kind"], row["panel"]) == (kind, panel)]
        text += f"\n### {kind.capitalize()} with the mean return of the agents, {panel}\n\n"
        columns = ["score_name", "n", "value", "low", "high"]
        text += markdown_table(sorted(shown, key=_by_value), columns)
    write_atomically(folder / "table.md", text)
    return f"{described}\n{text}"


def _counted(row: Row) -> Row:
    """Counts as whole numbers again; a table reads every number as a float."""
    return {
        name: int(value) if name in COUNTS and value is not None else value
        for name, value in row.items()
    }


def _by_value(row: Row) -> float:
    return 2.0 if row["value"] is None else -row["value"]


def returns_reached(runs: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Mean over the agents of the return of the last evaluation; only sets that every agent has run on."""
    by_set: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        if run["return"] is not None:
            by_set.setdefault((run["environment"], run["dataset"]), []).append(run)
    return {
        key: mean_over_agents(found, AGENTS, "return")
        for key, found in by_set.items()
        if {run["agent"] for run in found} == set(AGENTS)
    }


def _scores_table(scores: Sequence[Row]) -> str:
    """One row a set; the mean over scoring seeds of some scores."""
    rows: dict[str, dict[str, list[float]]] = {}
    for row in scores:
        if row["value"] is not None and row["score_name"] in COMPARED:
            found = rows.setdefault(row["dataset"], {})
            found.setdefault(row["score_name"], []).append(row["value"])
    means = [
        {"dataset": name, **{key: sum(each) / len(each) for key, each in found.items()}}
        for name, found in rows.items()
    ]
    return markdown_table(means, ["dataset", *COMPARED])


def _agents_table(runs: Sequence[Row], reached: Mapping[tuple[str, str], float]) -> str:
    rows: dict[str, Row] = {}
    for run in runs:
        row = rows.setdefault(run["dataset"], {"dataset": run["dataset"]})
        row[run["agent"]] = run["return"]
        row["mean"] = reached.get((run["environment"], run["dataset"]))
    return markdown_table(rows.values(), ["dataset", *AGENTS, "mean"])
