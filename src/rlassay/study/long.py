"""The long oracle: every agent trained until it has come to rest, on all mixtures first; rules in docs/study.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rlassay.oracle import LONG_AGENTS
from rlassay.study.cells import Cell, Report, read_runs
from rlassay.study.data import StudyData
from rlassay.study.files import markdown_table, read_table
from rlassay.study.plan import (
    FRESH_MIXTURES,
    LONG,
    ORACLE_DATASETS,
    PANELS,
    Profile,
)

MIXTURES = (*PANELS["mixtures"], *FRESH_MIXTURES)
OTHERS = tuple(name for name in ORACLE_DATASETS if name not in MIXTURES)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing, in the order of the plan; its budget is `long`, whatever profile is named."""
    from rlassay.study.data import study_data
    from rlassay.study.table1 import available, describe
    from rlassay.study.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    data = {
        environment: study_data(environment, (*MIXTURES, *OTHERS), LONG, zoo, report)
        for environment in available(zoo)
    }
    about = {**describe("long", LONG), "agents": list(LONG_AGENTS)}
    cells = long_cells(data)
    return run_trainings(results / "long", cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def long_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """(a) the mixtures, (b) the other datasets, (c) the mixtures once more with another seed."""
    from rlassay.study.training import training_cells

    def part(names: Sequence[str], seed: int) -> list[Cell]:
        ordered = [datasets[name] for name in names for datasets in data.values()]
        return training_cells(ordered, LONG_AGENTS, [seed], LONG.name)

    return part(MIXTURES, 0) + part(OTHERS, 0) + part(MIXTURES, 1)


def render(results: Path) -> str:
    """Which runs there are, and what they reached."""
    runs = read_runs("long", results)
    cells: dict[tuple[str, str, int], dict] = {}
    for row in runs:
        key = row["environment"], row["dataset"], int(row["seed"])
        named = {"environment": key[0], "dataset": key[1], "seed": key[2]}
        cells.setdefault(key, named)[row["agent"]] = row["score"]
    return markdown_table(cells.values(), ["environment", "dataset", "seed", *LONG_AGENTS])


def evaluation_share(results: Path) -> float:
    """The share of the training time that evaluations took, over all runs."""
    rows = [row for row in read_table(results / "long" / "runs.csv") if row["seconds"] is not None]
    return sum(row["evaluation_seconds"] for row in rows) / sum(row["seconds"] for row in rows)
