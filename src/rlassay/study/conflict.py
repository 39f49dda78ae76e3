"""Mixtures of policies of unrelated algorithms, trained on as the long oracle trains; rules in docs/verdict.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.plan import CONFLICT_MIXTURES, LONG, Profile
from rlassay.study.grid.progress import progress_table


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing; its budget is `long`, whatever profile is named."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe
    from rlassay.study.grid.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    data = {
        environment: study_data(environment, CONFLICT_MIXTURES, LONG, zoo, report)
        for environment in available(zoo)
    }
    about = {**describe("conflict", LONG), "agents": list(LONG_AGENTS)}
    folder, cells = results / "conflict", conflict_cells(data)
    return run_trainings(folder, cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def conflict_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """The first mixture of every environment, then the second; all agents of the long oracle, seed 0."""
    from rlassay.study.grid.training import training_cells

    ordered = [datasets[name] for name in CONFLICT_MIXTURES for datasets in data.values()]
    return training_cells(ordered, LONG_AGENTS, [0], LONG.name)


def render(results: Path) -> str:
    """How far the grid is; what agents reached is told by `rlassay study verdict` once it may be read."""
    text = progress_table(read_runs("conflict", results), by="environment")
    write_atomically(results / "conflict" / "table.md", text)
    return text
