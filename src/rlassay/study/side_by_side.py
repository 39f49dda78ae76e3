"""The lite and the long oracle side by side: the same scores, datasets and questions, two yardsticks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.study.analysis.d4rl_scale import scores_on_d4rl_scale
from rlassay.study.analysis.questions import BASE, Grid, make_grid, question_rows
from rlassay.study.analysis.reliability import ceiling, reliability_over_agents
from rlassay.study.analysis.tables import CEILING, one_row_a_score
from rlassay.study.grid.cells import read_runs
from rlassay.study.grid.files import Row, markdown_table
from rlassay.study.grid.plan import AGENTS, ENVIRONMENTS, MIXTURES, ORACLE_DATASETS

EVERYTHING = tuple(dict.fromkeys((*MIXTURES, *ORACLE_DATASETS)))


def mixtures_are_complete(grid: Grid) -> bool:
    """Whether every mixture has all agents of the long oracle: before that nothing of it is read (rule 2)."""
    return int(np.isin(grid.datasets, MIXTURES).sum()) == len(MIXTURES) * len(ENVIRONMENTS)


def beside_long(results: Path) -> str:
    """Both oracles in one table once every mixture is complete; until then how far the long one is."""
    if not (results / "long" / "runs.csv").exists():
        return ""
    runs, scores = read_runs("long", results), scores_on_d4rl_scale(results)
    grid = make_grid(scores, runs, LONG_AGENTS)
    if not mixtures_are_complete(grid):
        asked = [run for run in runs if run["dataset"] in MIXTURES and run["seed"] == 0]
        done = sum(run["score"] is not None for run in asked)
        return f"\nThe long oracle has {done} of the {len(asked)} runs on mixtures; until all are there this is the lite oracle alone.\n"
    lite_runs = [run for study in ("table1", "confirm") for run in read_runs(study, results)]
    lite = make_grid(scores, lite_runs, AGENTS)
    text = "\n### The lite and the long oracle side by side\n\nPearson on D4RL's scale with the mean of the agents (seven in `lite`, six in `long`), intervals over clusters of datasets; these datasets were seen with `lite`: no independent confirmation.\n\n"
    return text + markdown_table(*_table(_panels(lite, grid)))


def _panels(lite: Grid, lasting: Grid) -> dict[str, Grid]:
    """The mixtures under both yardsticks and, once they are complete, all datasets."""
    panels = {}
    for name, members in (("mixtures", MIXTURES), ("all", EVERYTHING)):
        parts = [grid.restrict(np.isin(grid.datasets, members)) for grid in (lite, lasting)]
        if all(len(part.datasets) == len(members) * len(ENVIRONMENTS) for part in parts):
            panels |= {f"{name}, lite": parts[0], f"{name}, long": parts[1]}
    return panels


def _table(panels: dict[str, Grid]) -> tuple[list[Row], list[str]]:
    """One row a score, best first; the ceiling below."""
    asked: list[Row] = []
    last: Row = {"score": CEILING}
    for panel, grid in panels.items():
        named = f"{panel} (n = {len(grid.datasets)})"
        asked += [
            row
            for row in question_rows(grid, named)
            if row["scaling"] == "D4RL's scale" and row["target"] == "mean of agents"
        ]
        top = ceiling(reliability_over_agents(grid.reached))
        last[named] = "" if top is None else f"{top:.2f}"
    rows = one_row_a_score(asked, "panel", BASE)
    return [*rows, last], list(dict.fromkeys(name for row in rows for name in row))
