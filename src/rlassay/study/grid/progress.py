"""How far a grid is, without a score: what may be told of runs whose results must not be read yet."""

from __future__ import annotations

from collections.abc import Sequence

from rlassay.study.grid.cells import MEASURED
from rlassay.study.grid.files import Row, markdown_table


def progress_row(part: str, runs: Sequence[Row]) -> Row:
    """How many runs there are, how many of them are done, and how many diverged."""
    done = sum(any(run.get(name) is not None for name in MEASURED) for run in runs)
    diverged = sum(run["diverged_at"] is not None for run in runs)
    return {"part": part, "runs": len(runs), "done": done, "diverged": diverged}


def progress_table(runs: Sequence[Row], by: str) -> str:
    """One row a value of the column `by`."""
    parts = dict.fromkeys(run[by] for run in runs)
    rows = [progress_row(part, [run for run in runs if run[by] == part]) for part in parts]
    return markdown_table(rows, ["part", "runs", "done", "diverged"])
