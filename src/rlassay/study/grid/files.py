"""Result files of studies: CSV with a JSON of the same name beside it, and Markdown tables."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.files import write_atomically, write_json
from rlassay.errors import DatasetError
from rlassay.results.provenance import versions

Row = dict[str, Any]
PACKAGES = (
    "rl-assay",
    "jax",
    "numpy",
    "gymnasium",
    "mujoco",
)  # whose versions stand beside a table
_RESTORE = (
    "restore the file with its JSON from version control, or compute the study again with --run"
)


def write_table(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], about: Mapping[str, Any]
) -> None:
    """Rows as CSV, and beside it `about` (command, settings, completeness) with the software that made them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: format_cell(row.get(name)) for name in columns})
    write_atomically(path, text.getvalue())
    counted = {"rows": len(rows), "sha256": _digest(text.getvalue().encode())}
    write_json(path.with_suffix(".json"), {**about, **counted, "software": versions(*PACKAGES)})


def read_table(path: Path, *, checked: bool = True) -> list[Row]:
    """Rows of a CSV; numbers as floats, empty cells as None.

    `checked` refuses a file that is not the one its JSON was written with; what goes on with a run does without.
    """
    try:
        content = path.read_bytes()
    except OSError:
        raise DatasetError(
            f"{path} is missing",
            remedy="run from a checkout that holds the committed results, or compute them with --run",
        ) from None
    read = csv.DictReader(io.StringIO(content.decode(), newline=""))
    rows = [{name: _value(text) for name, text in row.items()} for row in read]
    if checked:
        _refuse_changed(path, content, len(rows))
    return rows


def _refuse_changed(path: Path, content: bytes, rows: int) -> None:
    """A table with other rows than its JSON counted, or other text than it was written with, is refused.

    The JSON of an older table has no hash: there the count alone is compared.
    """
    about = read_about(path)
    wanted = about.get("rows")
    if wanted is not None and wanted != rows:
        raise DatasetError(
            f"{path} has lost or gained rows",
            allowed=f"{wanted} rows",
            got=f"{rows} rows",
            remedy=_RESTORE,
        )
    if about.get("sha256") not in (None, _digest(content)):
        raise DatasetError(f"{path} was changed after it was written", remedy=_RESTORE)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_about(path: Path) -> Row:
    """The JSON beside a CSV; empty where there is none."""
    beside = path.with_suffix(".json")
    return json.loads(beside.read_text()) if beside.exists() else {}


def markdown_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """A Markdown table; an absent cell stays empty, a number has at most four digits behind the point."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        lines.append("| " + " | ".join(_shown(row.get(name)) for name in columns) + " |")
    return "\n".join(lines) + "\n"


def format_cell(value: Any) -> str:
    """Numbers with nine digits, absent values as an empty cell."""
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
    return str(value)


def _value(text: str | None) -> Any:
    if text is None or text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text
