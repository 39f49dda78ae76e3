"""Cloning the best part of every dataset, which is what the advice `clone-best-part` amounts to; rules in docs/verdict.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rlassay.curation.facade import apply_rule
from rlassay.curation.rule import Rule
from rlassay.data.dataset import Dataset
from rlassay.engine.files import write_atomically
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData, stored_part
from rlassay.study.grid.plan import CONFLICT_MIXTURES, LONG, MIXTURES, OTHERS, Profile
from rlassay.study.grid.progress import progress_table
from rlassay.verdict.parts import BEST_PART

VARIANT = "best-part"
AGENT = "bc"
PART = f"best-{BEST_PART:g}"  # how its data are named in the store
DATASETS = (*MIXTURES, *OTHERS, *CONFLICT_MIXTURES)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing; its budget is `long`, whatever profile is named."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe
    from rlassay.study.grid.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    wholes = [
        data
        for environment in available(zoo)
        for data in study_data(environment, DATASETS, LONG, zoo, report).values()
    ]
    about = {**describe("parts", LONG), "agents": [AGENT], "keep": BEST_PART, "by": "return"}
    folder, cells = results / "parts", part_cells(stored_best_part(whole) for whole in wholes)
    return run_trainings(folder, cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def stored_best_part(whole: StudyData) -> StudyData:
    """The best part of a dataset of the study."""
    return stored_part(whole, PART, best_part)


def best_part(data: Dataset) -> Dataset:
    """The episodes that the command of the advice keeps."""
    return apply_rule(data, Rule(keep=BEST_PART, by="return")).data


def part_cells(parts: Iterable[StudyData]) -> list[Cell]:
    """One run a part."""
    from rlassay.study.grid.training import training_cells

    return training_cells(parts, [AGENT], [0], LONG.name, variant=VARIANT)


def render(results: Path) -> str:
    """How far the grid is; what was reached is told by `rlassay study verdict` once it may be read."""
    text = progress_table(read_runs("parts", results), by="environment")
    write_atomically(results / "parts" / "table.md", text)
    return text
