"""The verdict's calibration and how far it holds; definitions and rules were written before (docs/verdict.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlassay.engine.files import write_atomically, write_json
from rlassay.study.grid.cells import Report, run_table
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, write_table
from rlassay.study.grid.plan import CONFLICT_MIXTURES, LITE, Profile
from rlassay.study.verdict import tables
from rlassay.study.verdict.calibrate import COMMAND, calibration, chosen_forecasts
from rlassay.study.verdict.candidates import candidate_rows, may_choose, targets
from rlassay.study.verdict.cases import (
    BEST_PARTS,
    CONFLICT,
    EVERY_DATASET,
    FEATURES,
    REFINED,
    WORLDS,
    Case,
    chosen_oracle,
    described,
    missing_runs,
    read_cases,
)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Compute the features of every dataset that has an oracle; the data are those of `lite`, whatever profile is named."""
    from rlassay.study.grid.running import describe
    from rlassay.study.verdict import features

    datasets, about = every_dataset(zoo, report), describe("verdict", LITE)
    failures: list[str] = []
    for kind, name, columns, to_rows in (
        ("counted", FEATURES, features.COLUMNS, features.feature_rows),
        ("refined", REFINED, features.REFINED_COLUMNS, features.refined_rows),
    ):
        cells = features.feature_cells(datasets, kind)
        failures += run_table(results / name, cells, columns, to_rows, about, report)
    return failures


def every_dataset(zoo: Path, report: Report) -> list[StudyData]:
    """The datasets of the studies, the conflict mixtures and the other worlds, as far as the zoo has their actors."""
    from rlassay.collect.sources import ZooActors
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available
    from rlassay.study.worlds import known_worlds, world_data

    found = []
    for environment in available(zoo):
        more = CONFLICT_MIXTURES if ZooActors.open(zoo, environment).others() else ()
        found += study_data(environment, (*EVERY_DATASET, *more), LITE, zoo, report).values()
    for env_id in known_worlds(zoo):
        found += world_data(env_id, zoo, report).values()
    return found


def render(results: Path, oracle: str | None = None) -> str:
    """Make the calibration and the tables of how far it holds; by the long oracle once it is complete, unless one is named."""
    oracle = oracle or chosen_oracle(results)
    cases = read_cases(results, oracle)
    made = calibration(cases, oracle)
    for folder in (results / "verdict", *_package(results)):
        write_json(folder / "calibration.json", made)
    text = (
        f"On the oracle `{described(oracle)}`, {len(cases)} datasets.{_not_used(results, oracle)}\n"
    )
    for name, rows in _tables(cases, made["forecasts"]).items():
        about = {"command": COMMAND, "oracle": described(oracle), "datasets": len(cases)}
        write_table(
            results / "verdict" / f"{name.replace(' ', '_')}.csv", rows, list(rows[0]), about
        )
        if name != "labels":
            text += f"\n### {name.capitalize()}\n\n{markdown_table(rows, list(rows[0]))}"
    write_atomically(results / "verdict" / "table.md", text)
    return text


def _not_used(results: Path, oracle: str) -> str:
    """Which parts of the plan are not complete; nothing beside an oracle on which nothing is chosen."""
    if oracle != "long":
        return ""
    known = {
        "conflict mixtures": CONFLICT,
        "clones of best parts": BEST_PARTS,
        "other worlds": WORLDS,
    }
    counted = {name: missing_runs(results, part) for name, part in known.items()}
    waiting = [f"the {name} lack {count} runs" for name, count in counted.items() if count]
    choice = (
        " Nothing is chosen before the conflict mixtures are complete: the forecast is the base."
    )
    told = f" Not used yet: {', '.join(waiting)}." if waiting else ""
    return told + (choice if counted["conflict mixtures"] else "")


def _package(results: Path) -> list[Path]:
    """The room of the verdict in the checkout that holds the results: what is calibrated there is what it ships."""
    room = results.resolve().parent / "src" / "rlassay" / "verdict"
    return [room] if room.is_dir() else []


def _tables(cases: Sequence[Case], forecasts: tables.Forecasts) -> dict[str, list[Row]]:
    """Rows of every table, by name. Candidates are compared where one may be chosen."""
    found = {
        "errors": tables.error_rows(cases, forecasts),
        "best agent": tables.best_agent_rows(cases),
        "coverage": tables.coverage_rows(cases, forecasts),
        "confusion": tables.confusion_rows(cases, forecasts),
        "reached": tables.reached_rows(cases),
        "regret": tables.regret_rows(cases, forecasts),
        "labels": tables.label_rows(cases, forecasts),
    }
    if may_choose(cases):
        found["candidates"] = [row for t in targets(cases) for row in candidate_rows(cases, t)]
        refined = chosen_forecasts(cases, refined=True)
        if refined != forecasts:
            found["refined errors"] = tables.error_rows(cases, refined)
            found["refined coverage"] = tables.coverage_rows(cases, refined)
    return found
