"""What a curation did, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from rlassay.report.table import Column, show_table
from rlassay.report.words import together
from rlassay.words import printable


def show_curation(result: Mapping[str, Any], console: Console) -> None:
    """Print what was kept, the scores before and after, and where it went."""
    _show_table(result, console)
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


def _show_table(result: Mapping[str, Any], console: Console) -> None:
    before, after = result["before"], result["after"]
    rows = [
        (name, f"{before[name]:,}", "", f"{after[name]:,}", "")
        for name in ("episodes", "transitions")
    ]
    for name, score in before["scores"].items():
        rows.append((name, *shown(score), *shown(after["scores"].get(name))))
    heads = ["before", "95 % interval", "after", "95 % interval"]
    if not any(row[2] not in ("", "–") for row in rows):  # nothing was resampled
        heads, rows = heads[::2], [(row[0], row[1], row[3]) for row in rows]
    columns = (Column("", style="bold"), *[Column(head, "right") for head in heads])
    show_table(columns, rows, console, title=f"{result['source']}: {rule_in_words(result)}")


def rule_in_words(result: Mapping[str, Any]) -> str:
    """The rule of a curation as one line."""
    return ", ".join(
        f"{key} {len(value)} named" if key == "only" else f"{key} {value}"
        for key, value in sorted(result["rule"].items(), key=lambda part: part[0] == "by")
    )


def shown(score: Mapping[str, Any] | None) -> tuple[str, str]:
    """Value and interval of a score, or nothing where there is none."""
    if score is None:
        return "", ""
    bounds = score.get("interval")
    return together(score["value"], (bounds[0], bounds[1]) if bounds else None)


def _ending(result: Mapping[str, Any]) -> str:
    counted = (
        f"{len(result['kept']):,} of {len(result['kept']) + len(result['dropped']):,} episodes"
    )
    files = [result["out"]] if result["out"] else []
    if result.get("weights"):
        files.append(result["weights"]["file"])
    if result.get("sidecar"):
        files.append(result["sidecar"])
    if result["dry_run"]:
        return f"would keep {counted}; nothing was written"
    return f"kept {counted}" + (
        f"; wrote {' and '.join(files)}" if files else "; nothing was written"
    )
