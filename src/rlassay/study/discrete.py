"""Discrete actions: scores of graded CartPole and Acrobot data beside what six agents reach; rules in docs/study.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rlassay.study.grid.cells import Cell, Report
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.plan import (
    DISCRETE,
    DISCRETE_AGENTS,
    DISCRETE_CHANGES,
    DISCRETE_DATASETS,
    DISCRETE_ENVIRONMENTS,
    Profile,
)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train every agent on every dataset; its budget is its own, whatever profile is named."""
    from rlassay.study.grid.running import describe
    from rlassay.study.grid.training import run_trainings

    about = {**describe("discrete", DISCRETE), "changes": DISCRETE_CHANGES}
    data = discrete_data(zoo, report)
    return run_trainings(results / "discrete", discrete_cells(data), about, report)


def discrete_data(zoo: Path, report: Report) -> dict[str, dict[str, StudyData]]:
    """The datasets of every environment, by name."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available

    return {
        environment: study_data(environment, DISCRETE_DATASETS, DISCRETE, zoo, report)
        for environment in available(zoo, DISCRETE_ENVIRONMENTS)
    }


def discrete_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """The first dataset of every environment, then the second: comparisons are complete early."""
    from rlassay.study.grid.training import training_cells

    ordered = [datasets[name] for name in DISCRETE_DATASETS for datasets in data.values()]
    seeds = range(DISCRETE.oracle_seeds)
    asked = DISCRETE_AGENTS, seeds, DISCRETE.name, DISCRETE_CHANGES
    return training_cells(ordered, *asked, discrete=True)
