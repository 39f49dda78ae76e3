"""Demonstrations on the terminal and in Markdown: the episodes worth watching, why, and how to open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlassay.words import printable

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"good": "green", "look": "yellow", "unknown": "dim"}
OPENED = "to open the first of them (commands of the lerobot package, not run here):"


def lines(told: Mapping[str, Any]) -> list[str]:
    """What is said, one paragraph a line."""
    watch = told["watch"]
    found = ["worth watching:" if watch else "no episode stands out in any score of movement"]
    for one in watch:
        found.append(f"  episode {one['episode']}: {'; '.join(one['reasons'])}")
    if told.get("open"):
        found += [OPENED, *(f"  {command}" for command in told["open"].values())]
    return found


def show_demonstrations(told: Mapping[str, Any], console: Console) -> None:
    """Print the episodes worth watching, then what is said about all of them."""
    from rich.text import Text

    for line in lines(told):
        console.print(Text(printable(line)), soft_wrap=True)  # whole, so that it can be copied
    for finding in told["findings"]:
        label = (finding["status"].upper(), STYLES[finding["status"]])
        console.print(Text.assemble(label, f" {printable(finding['message'])}"))
    for caution in told["cautions"]:
        console.print(Text(printable(f"note: {caution}")))


def markdown(told: Mapping[str, Any]) -> str:
    """The same as Markdown, behind the table of checks."""
    said = [line.strip() for line in lines(told)]
    said += [f"{one['status']}: {one['message']}" for one in told["findings"]]
    return "".join(f"\n- {printable(line)}" for line in said) + "\n"
