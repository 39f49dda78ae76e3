"""What a curation did, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rlassay.words import printable


def show_curation(result: Mapping[str, Any], console: Console) -> None:
    """Print what was kept, the scores before and after, and where it went."""
    console.print(_table(result))
    for note in (*result["notes"], *result.get("lost", ())):
        console.print(Text(printable(f"note: {note}")))
    if weights := result.get("weights"):
        console.print(
            Text(
                f"weights by {weights['kind']}, temperature {weights['temperature']:g}: they act like "
                f"{100 * weights['effective_share']:.0f} % of the rows"
            )
        )
    if command := result.get("delete_command"):
        console.print(Text("to delete what was not chosen, with the lerobot package:"))
        console.print(Text(printable(command)), soft_wrap=True)
    console.print(Text(printable(_ending(result))))


def _table(result: Mapping[str, Any]) -> Table:
    before, after = result["before"], result["after"]
    rule = ", ".join(
        f"{key} {len(value)} named" if key == "only" else f"{key} {value}"
        for key, value in result["rule"].items()
    )
    table = Table(title=Text(printable(f"{result['source']}: {rule}")), title_justify="left")
    table.add_column("")
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    for name in ("episodes", "transitions"):
        table.add_row(name, f"{before[name]:,}", f"{after[name]:,}")
    for name, score in before["scores"].items():
        table.add_row(name, _shown(score), _shown(after["scores"].get(name)))
    return table


def _shown(score: Mapping[str, Any] | None) -> str:
    if score is None:
        return ""
    interval = score.get("interval")
    spread = f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""
    return f"{score['value']:.5g}{spread}"


def _ending(result: Mapping[str, Any]) -> str:
    counted = (
        f"{len(result['kept']):,} of {len(result['kept']) + len(result['dropped']):,} episodes"
    )
    files = [result["out"]] if result["out"] else []
    if result.get("weights"):
        files.append(result["weights"]["file"])
    if result["dry_run"]:
        return f"would keep {counted}; nothing was written"
    return f"kept {counted}" + (
        f"; wrote {' and '.join(files)}" if files else "; nothing was written"
    )
