"""The tables of the fault script: one file a command, and what all of them say together."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Sequence
from pathlib import Path

from fault_judge import GOOD, MISSED

COLUMNS = (
    "seed",
    "command",
    "kind",
    "where",
    "code",
    "rerun",
    "listening",
    "seconds_to_leave",
    "outcome",
)
SUMMARIES = ("counts", "leaving")
KINDS = {
    "kill": "SIGKILL",
    "term": "SIGTERM",
    "int": "SIGINT",
    "enospc": "full disk",
    "fsize": "file size",
    "damage": "damage",
}


def write_tables(rows: Sequence[dict], folder: Path) -> None:
    """The rows of one command and seed beside those of its other seeds, and both summaries of everything there is."""
    seed, command = int(rows[0]["seed"]), rows[0]["command"]
    path = folder / f"{command}.csv"
    kept = [row for row in read(path) if int(row["seed"]) != seed] if path.exists() else []
    _write(path, [*kept, *rows])
    write_summaries(folder)


def write_summaries(folder: Path) -> None:
    files = [path for path in sorted(folder.glob("*.csv")) if path.stem not in SUMMARIES]
    known = [row for path in files for row in read(path)]
    _write(folder / "counts.csv", counts(known))
    _write(folder / "leaving.csv", leaving(known))


def rows_of(command: str, seed: int, folder: Path) -> list[dict]:
    """What was written before of a command and seed."""
    path = folder / f"{command}.csv"
    return [row for row in read(path) if int(row["seed"]) == seed] if path.exists() else []


def read(path: Path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def counts(rows: Sequence[dict]) -> list[dict]:
    """By command, and for all of them: survived of happened, by kind of fault; and how many came too late."""
    by_command = [(name, [row for row in rows if row["command"] == name]) for name in _names(rows)]
    table = []
    for name, found in [*by_command, ("all", list(rows))]:
        cells = {title: _survived(found, {kind}) for kind, title in KINDS.items()}
        late = sum(row["outcome"] == MISSED for row in found)
        table.append(
            {"command": name, **cells, "all": _survived(found, set(KINDS)), "too late": late}
        )
    return table


def _survived(rows: Sequence[dict], kinds: set[str]) -> str:
    """`good of happened`; empty where nothing happened."""
    happened = [row for row in rows if row["kind"] in kinds and row["outcome"] != MISSED]
    good = sum(row["outcome"] == GOOD for row in happened)
    return f"{good} of {len(happened)}" if happened else ""


def _names(rows: Sequence[dict]) -> list[str]:
    return sorted({row["command"] for row in rows})


def leaving(rows: Sequence[dict]) -> list[dict]:
    """Seconds from SIGINT or SIGTERM at a random moment to the end of the command."""
    heard = [
        row
        for row in rows
        if row["kind"] in ("int", "term") and row["seconds_to_leave"] and row["listening"] == "yes"
    ]
    groups = [(name, [row for row in heard if row["command"] == name]) for name in _names(heard)]
    return [_seconds(name, found) for name, found in [*groups, ("all", heard)] if found]


def _seconds(name: str, rows: Sequence[dict]) -> dict:
    seconds = [float(row["seconds_to_leave"]) for row in rows]
    return {
        "command": name,
        "signals": len(seconds),
        "median seconds": f"{statistics.median(seconds):.2f}",
        "longest seconds": f"{max(seconds):.2f}",
    }


def _write(path: Path, rows: Sequence[dict]) -> None:
    from rlassay.engine.files import write_atomically

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())
