"""Inspections and repairs as tables on the terminal, inspections as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlassay.words import printable

if TYPE_CHECKING:
    from rich.console import Console

    from rlassay.inspection import Check, Inspection

STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red"}
NARROW = 70  # below this width each check is a block instead of a row


def show_inspection(inspection: Inspection, console: Console) -> None:
    """Print the checks, findings with their rows and remedy, and the verdict in words."""
    from rich.text import Text

    from rlassay.inspection.results import whole_command

    console.print(Text(title(inspection)), soft_wrap=False)
    if console.width < NARROW:
        for check in inspection.checks:
            console.print(Text.assemble(*_label(check), f" {check.name}: {details(check)}"))
    else:
        _table(inspection, console)
    verdict = Text(f"{inspection.status.upper()}: {count(inspection)}", STYLES[inspection.status])
    console.print(verdict)
    command = whole_command(check.remedy for check in inspection.checks)
    if command is not None:
        console.print(Text("everything that can be repaired, in one command:"))
        console.print(
            Text(f"  {printable(command)}"), soft_wrap=True
        )  # whole, so that it can be copied


def show_findings(inspection: Inspection, console: Console) -> None:
    """One file of many: its verdict, and what is behind it."""
    from rich.text import Text

    label = (inspection.status.upper(), STYLES[inspection.status])
    console.print(Text.assemble(label, f" {title(inspection)}: {count(inspection)}"))
    for check in inspection.checks:
        if check.status != "pass":
            line = Text.assemble("  ", *_label(check), f" {check.name}: {details(check)}")
            console.print(line)


def _table(inspection: Inspection, console: Console) -> None:
    from rich.text import Text

    from rlassay.report.table import Column, show_table

    columns = (Column(""), Column("check"), Column("finding", fold=True))
    rows = [
        (Text.assemble(*_label(check)), check.name, details(check)) for check in inspection.checks
    ]
    show_table(columns, rows, console)


def _label(check: Check) -> list[tuple[str, str]]:
    return [(check.status.upper(), STYLES[check.status])]


def title(inspection: Inspection) -> str:
    """What was inspected, in one line."""
    known = inspection.dataset
    environment = f", {known['env_id']}" if known.get("env_id") else ""
    read_as = known.get("format", "unreadable")
    return printable(f"{known.get('source', 'dataset')} ({read_as}{environment})")


def details(check: Check) -> str:
    """Message, rows and remedy of a check in one text."""
    rows = f" [rows {', '.join(str(row) for row in check.rows)}]" if check.rows else ""
    remedy = f" -> {check.remedy}" if check.remedy else ""
    return printable(f"{check.message}{rows}{remedy}")


def count(inspection: Inspection) -> str:
    """How many checks failed and warned."""
    failed = sum(check.status == "fail" for check in inspection.checks)
    warned = sum(check.status == "warn" for check in inspection.checks)
    return f"{failed} failed, {warned} warned, {len(inspection.checks) - failed - warned} passed"


def markdown(inspection: Inspection) -> str:
    """A heading, the verdict and one table."""
    lines = [
        f"# Inspection of {title(inspection)}",
        "",
        f"**{inspection.status.upper()}**: {count(inspection)}",
        "",
        "| status | check | finding | rows | remedy |",
        "|---|---|---|---|---|",
    ]
    for check in inspection.checks:
        rows = ", ".join(str(row) for row in check.rows)
        cells = (check.status.upper(), f"`{check.name}`", check.message, rows, check.remedy)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def show_repair(told: Mapping[str, Any], console: Console) -> None:
    """What each rule did, and the state before and after, from the JSON of `rlassay.repair/1`."""
    from rich.text import Text

    from rlassay.report.table import Column, show_table

    columns = (
        Column("rule"),
        Column("rows", "right"),
        Column("episodes", "right"),
        Column("what was done", fold=True),
    )
    rows = [
        (rule["name"], f"{rule['rows']:,}", f"{rule['episodes']:,}", rule["message"])
        for rule in told["rules"]
    ]
    console.print(Text(str(told["source"])))
    show_table(columns, rows, console)
    for when in ("before", "after"):
        state = told[when]
        found = ", ".join(f"{name} {status}" for name, status in state["findings"].items())
        size = f"{state['transitions']:,} transitions, {state['episodes']:,} episodes"
        text = f"{when}: {state['status'].upper()}; {size}" + (f"; {found}" if found else "")
        console.print(Text(text, STYLES[state["status"]]))
