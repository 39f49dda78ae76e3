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


def write_tables(rows: Sequence[dict], folder: Path) -> None:
    """The rows of one command and seed beside those of its other seeds, and both summaries of everything there is."""
    seed, command = int(rows[0]["seed"]), rows[0]["command"]
    path = folder / f"{command}.csv"
    kept = [row for row in read(path) if int(row["seed"]) != seed] if path.exists() else []
    _write(path, [*kept, *rows])
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
    """By command and kind: faults that happened, those survived, and those that came too late."""
    table = []
    for pair in sorted({(row["command"], row["kind"]) for row in rows}):
        found = [row["outcome"] for row in rows if (row["command"], row["kind"]) == pair]
        missed, good = found.count(MISSED), found.count(GOOD)
        numbers = {"faults": len(found) - missed, "good": good, "missed": missed}
        table.append({"command": pair[0], "kind": pair[1], **numbers})
    return table


def leaving(rows: Sequence[dict]) -> list[dict]:
    """Seconds from SIGINT or SIGTERM at a random moment to the end of the command."""
    heard = [
        row
        for row in rows
        if row["kind"] in ("int", "term") and row["seconds_to_leave"] and row["listening"] == "yes"
    ]
    table = []
    for command in sorted({row["command"] for row in heard}):
        seconds = [float(row["seconds_to_leave"]) for row in heard if row["command"] == command]
        table.append(
            {
                "command": command,
                "signals": len(seconds),
                "median_seconds": f"{statistics.median(seconds):.2f}",
                "longest_seconds": f"{max(seconds):.2f}",
            }
        )
    return table


def _write(path: Path, rows: Sequence[dict]) -> None:
    from rlassay.engine.files import write_atomically

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())
