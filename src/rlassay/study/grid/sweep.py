"""What studies of single trainings share: run a grid of cells, read its table, write what is rendered from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.study.grid.cells import Cell, Report
from rlassay.study.grid.files import Row, markdown_table, read_about, write_table
from rlassay.study.grid.plan import Profile

# `lite` looks at the environment in which episodes end early and weak data hurts most; `paper` at all three.
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "lite": ("Hopper-v5",),
    "paper": ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5"),
}
MakeCells = Callable[[str, Profile, Path, Report], list[Cell]]


def run_sweep(
    name: str,
    make_cells: MakeCells,
    results: Path,
    profile: Profile,
    zoo: Path,
    report: Report,
    environments: Sequence[str] = (),
) -> list[str]:
    """Train what is missing of `make_cells(environment, ...)` and export it to `results/<name>`."""
    from rlassay.study.grid.running import available, describe
    from rlassay.study.grid.training import run_trainings

    known = available(zoo, environments or ENVIRONMENTS[profile.name])
    grid = [cell for environment in known for cell in make_cells(environment, profile, zoo, report)]
    return run_trainings(results / name, grid, describe(name, profile), report)


def write_sweep(name: str, results: Path, rows: Sequence[Row], columns: Sequence[str]) -> str:
    """The rendered rows as CSV and Markdown."""
    folder = results / name
    complete = read_about(folder / "runs.csv").get("complete")
    about = {"command": f"rlassay study {name}", "complete": complete}
    write_table(folder / "table.csv", rows, columns, about)
    text = markdown_table(rows, columns)
    write_atomically(folder / "table.md", text)
    return text
