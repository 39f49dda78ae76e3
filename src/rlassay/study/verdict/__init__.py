"""The verdict's calibration and how far it holds; definitions and rules were written before (docs/verdict.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlassay.engine.files import write_atomically, write_json
from rlassay.study.grid.cells import Report, export_cells, run_cells
from rlassay.study.grid.files import Row, markdown_table, write_table
from rlassay.study.grid.plan import LITE, Profile
from rlassay.study.verdict import tables
from rlassay.study.verdict.calibrate import COMMAND, calibration
from rlassay.study.verdict.candidates import TARGETS, candidate_rows
from rlassay.study.verdict.cases import EVERY_DATASET, Case, chosen_oracle, described, read_cases


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Compute the features of every dataset that has an oracle; the data are those of `lite`, whatever profile is named."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe
    from rlassay.study.verdict.features import COLUMNS, feature_cells, feature_rows

    cells = [
        cell
        for environment in available(zoo)
        for cell in feature_cells(
            study_data(environment, EVERY_DATASET, LITE, zoo, report).values()
        )
    ]
    table, about = results / "verdict" / "features.csv", describe("verdict", LITE)
    return run_cells(
        cells,
        table=table,
        export=lambda: export_cells(table, cells, COLUMNS, feature_rows, about),
        report=report,
    )


def render(results: Path, oracle: str | None = None) -> str:
    """Make the calibration and the tables of how far it holds; by the long oracle once it is complete, unless one is named."""
    oracle = oracle or chosen_oracle(results)
    cases = read_cases(results, oracle)
    made = calibration(cases, oracle)
    for folder in (results / "verdict", *_package(results)):
        write_json(folder / "calibration.json", made)
    text = f"On the oracle `{described(oracle)}`, {len(cases)} datasets.\n"
    for name, rows in _tables(cases, made["forecasts"], oracle).items():
        about = {"command": COMMAND, "oracle": described(oracle), "datasets": len(cases)}
        write_table(results / "verdict" / f"{name}.csv", rows, list(rows[0]), about)
        if name != "labels":
            text += f"\n### {name.capitalize()}\n\n{markdown_table(rows, list(rows[0]))}"
    write_atomically(results / "verdict" / "table.md", text)
    return text


def _package(results: Path) -> list[Path]:
    """The room of the verdict in the checkout that holds the results: what is calibrated there is what it ships."""
    room = results.resolve().parent / "src" / "rlassay" / "verdict"
    return [room] if room.is_dir() else []


def _tables(
    cases: Sequence[Case], forecasts: tables.Forecasts, oracle: str
) -> dict[str, list[Row]]:
    """Rows of every table, by name. Candidates are compared on the long oracle alone: nothing is chosen on another."""
    found = {
        "errors": tables.error_rows(cases, forecasts),
        "coverage": tables.coverage_rows(cases, forecasts),
        "confusion": tables.confusion_rows(cases, forecasts),
        "regret": tables.regret_rows(cases, forecasts),
        "labels": tables.label_rows(cases, forecasts),
    }
    if oracle == "long":
        found["candidates"] = [row for t in TARGETS for row in candidate_rows(cases, t)]
    return found
