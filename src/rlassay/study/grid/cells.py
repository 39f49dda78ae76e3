"""Cells of a study's grid: each is one task of the engine; a table keeps one row a cell, empty until it has run.

A committed table and the run store complete each other: a cell counts as done when either holds it under the key of
its task. A row with another key was made with other settings, data or an older revision, and is never mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlassay.engine.choice import default_engine
from rlassay.engine.local import Engine, Outcome
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SettingsError
from rlassay.study.grid.files import Row, read_about, read_table, write_table

MEASURED = ("value", "score", "return")  # columns of which one is filled once a cell has run
Report = Callable[[str], None]
ToRows = Callable[["Cell", Any], list[Row]]


@dataclass(frozen=True)
class Cell:
    """One task and the columns that name it in the table."""

    task: Task
    columns: Mapping[str, Any] = field(default_factory=dict)


def run_cells(
    cells: Sequence[Cell],
    *,
    table: Path | None = None,
    export: Callable[[], Any] = lambda: None,
    engine: Engine | None = None,
    store: RunStore | None = None,
    report: Report,
) -> list[str]:
    """Run what is missing, in the order given; returns the causes of failures.

    Cells that the committed `table` holds are not run again. `export` is called after every cell, so that what is done
    is never only in the store.
    """
    held = _committed(table) if table is not None else {}
    tasks = [cell.task for cell in cells if cell.task.key not in held]
    done = len(cells) - len(tasks)

    def on_outcome(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if not outcome.cached:
            ended = outcome.failure or "done"
            report(f"{done} of {len(cells)}: {outcome.task.label}: {ended}")
            export()

    outcomes = (engine or default_engine()).run(tasks, store or RunStore(), on_outcome)
    export()
    return [f"{o.task.label}: {o.failure}" for o in outcomes if o.failure]


def run_table(
    table: Path,
    cells: Sequence[Cell],
    columns: Sequence[str],
    to_rows: ToRows,
    about: Mapping[str, Any],
    report: Report,
) -> list[str]:
    """Run what is missing of a grid that is one table, which grows with every cell; returns the causes of failures."""
    return run_cells(
        cells,
        table=table,
        export=lambda: export_cells(table, cells, columns, to_rows, about),
        report=report,
    )


def export_cells(
    path: Path,
    cells: Sequence[Cell],
    columns: Sequence[str],
    to_rows: ToRows,
    about: Mapping[str, Any],
    store: RunStore | None = None,
    beside: Sequence[Row] = (),
) -> list[Row]:
    """Write the table of all cells: from the store, else from the rows already in the file, else an empty cell.

    `beside` are rows of other grids that share the table.
    """
    store = store or RunStore()
    kept = _committed(path)
    rows, missing = [*beside], []
    for cell in cells:
        found = _rows_of(cell, store, kept, to_rows)
        if found is None:
            missing.append(cell.task.label)
            found = [{**cell.columns, "key": cell.task.key}]
        rows += found
    summary = {"complete": not missing, "missing": missing, **about}
    write_table(path, rows, [*columns, "key"], summary)
    return rows


def _committed(path: Path) -> dict[str, list[Row]]:
    """Rows of cells that have run, by key."""
    kept: dict[str, list[Row]] = {}
    for row in read_table(path, checked=False) if path.exists() else []:
        if row.get("key"):  # a table older than keys names no cell
            kept.setdefault(row["key"], []).append(row)
    return {
        key: rows
        for key, rows in kept.items()
        if any(row.get(name) is not None for row in rows for name in MEASURED)
    }


def _rows_of(cell: Cell, store: RunStore, kept: Mapping[str, list[Row]], to_rows: ToRows):
    result = store.result(cell.task)
    if result is None:
        return _renamed(kept.get(cell.task.key), cell)
    return [{**cell.columns, **row, "key": cell.task.key} for row in to_rows(cell, result)]


def _renamed(rows: list[Row] | None, cell: Cell) -> list[Row] | None:
    """Committed rows under the cell's own columns: cells that share a run have one set of rows each, under its key."""
    if rows is None:
        return None
    found: list[Row] = []
    for row in rows:
        named = {**row, **cell.columns}
        if named not in found:
            found.append(named)
    return found


def read_runs(name: str, results: Path) -> list[Row]:
    """The raw runs of a study; mixed revisions are refused."""
    path = results / name / "runs.csv"
    refuse_mixed(path, f"rlassay study {name} --run")
    return read_table(path)


def refuse_mixed(path: Path, command: str) -> None:
    """A table whose rows come from several revisions is refused, with the command that redoes the old ones."""
    revisions = {row.get("revision") for row in read_table(path) if row.get("revision") is not None}
    current = read_about(path).get("revisions")
    if current is not None and not revisions <= {float(r) for r in current}:
        raise SettingsError(
            f"{path} mixes revisions",
            allowed=current,
            got=sorted(str(r) for r in revisions),
            remedy=f"run {command}",
        )
