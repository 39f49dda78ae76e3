"""The verdict on files of other projects: eight Pendulum sets that nobody here made and nothing was chosen by; rules in docs/verdict.md.

The sets are those of `rlassay study real`, trained on as the other worlds are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.study import worlds
from rlassay.study.grid.cells import Report, read_runs, run_table
from rlassay.study.grid.files import Row, markdown_table, write_table
from rlassay.study.grid.plan import LONG, Profile
from rlassay.study.grid.progress import progress_table
from rlassay.study.real import ENVIRONMENT, read_sets
from rlassay.study.verdict import tables
from rlassay.study.verdict.calibrate import calibration
from rlassay.study.verdict.candidates import PART, TARGETS, left_out, outcome
from rlassay.study.verdict.cases import WORLDS, Case, missing_runs, read_cases, wild_cases
from rlassay.verdict.calibration import POINTS, Calibration, outside

COMMAND = "rlassay study wild"
FEATURES = Path("wild") / "features.csv"


def run(
    results: Path, profile: Profile, zoo: Path, report: Report, data: Path | None = None
) -> list[str]:
    """Train on every dataset of the folder `data` and compute its features; the budget is that of the other worlds."""
    from rlassay.study.grid.training import (
        LONG_COLUMNS,
        LONG_CURVE_COLUMNS,
        run_trainings,
        training_cells,
    )
    from rlassay.study.verdict import features

    _, datasets = read_sets(data)
    about = {"command": f"{COMMAND} --data DIR --run", "updates": worlds.UPDATES}
    counted, columns = features.feature_cells(datasets), features.COLUMNS
    failures = run_table(results / FEATURES, counted, columns, features.feature_rows, about, report)
    cells = training_cells(datasets, worlds.AGENTS, [0], LONG.name, {"updates": worlds.UPDATES})
    folder = results / "wild"
    return failures + run_trainings(folder, cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def render(results: Path) -> str:
    """How far the finished forecasts are off; nothing is read before all runs, and the other worlds, are there."""
    runs, folder = read_runs("wild", results), results / "wild"
    text = progress_table(runs, by="dataset")
    waiting = any(row["return"] is None for row in runs) or missing_runs(results, WORLDS)
    if not waiting:
        text += _answers(results, wild_cases(results, runs, FEATURES))
    write_atomically(folder / "table.md", text)
    return text


def _answers(results: Path, cases: Sequence[Case]) -> str:
    """Every set with forecast and outcome; errors, intervals that held, and regret, as CSV and Markdown."""
    made = calibration(read_cases(results, "long"), "long")
    found = {
        "sets": set_rows(cases, made),
        "errors": tables.error_rows(cases, _forecasts(made)),
        "best agent": tables.best_agent_rows(cases),
        "intervals": interval_rows(cases, made),
        "regret": tables.regret_rows(cases, _forecasts(made), {ENVIRONMENT: made["agent"]}),
    }
    text = ""
    for name, rows in found.items():
        columns = [column for column in rows[0] if column != "panel"]
        write_table(
            results / "wild" / f"{name.replace(' ', '_')}.csv", rows, columns, {"command": COMMAND}
        )
        text += f"\n### {name.capitalize()}\n\n{markdown_table(rows, columns)}"
    return text


def _forecasts(made: Mapping[str, Any]) -> dict[str, str]:
    """Of cloning and of offline RL; clones of best parts were not trained here."""
    return {target: made["forecasts"][target] for target in TARGETS}


def set_rows(cases: Sequence[Case], made: Mapping[str, Any]) -> list[Row]:
    """Labels and numbers of every set, in points; `outside` says what a card would call a guess."""
    known = Calibration.from_dict(made)
    left_out = ("environment", "several_modes", "best_part_forecast", "best_part")
    return [
        {
            **{name: value for name, value in row.items() if name not in left_out},
            "outside": "; ".join(outside(known, case.features, discrete=False)) or "no",
        }
        for case, row in zip(cases, tables.label_rows(cases, _forecasts(made)), strict=True)
    ]


def interval_rows(cases: Sequence[Case], made: Mapping[str, Any]) -> list[Row]:
    """How many of the 80 % intervals that a card shows hold the outcome."""
    rows = []
    for target, name in made["forecasts"].items():
        if target != PART:
            half = made["half_widths"][POINTS][target]
            held = np.abs(left_out(cases, target, name) - outcome(cases, target)) <= half
            row = {"target": target, "forecast": name, "half_width": half}
            rows.append(row | tables.covered(int(held.sum()), len(held)))
    return rows
