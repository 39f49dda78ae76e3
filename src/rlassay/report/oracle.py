"""What agents reached on a dataset, on a terminal: one row an agent, then what they say together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rlassay.report import words


def show_oracle(result: Mapping[str, Any], console: Console) -> None:
    """Print the agents of an `rlassay.oracle/1`, the oracle's score, and what diverged or failed."""
    console.print(Text(words.plain(str(result["dataset"]["source"])), style="bold"))
    console.print(Text(f"profile {result['profile']}, {result['unit']}"))
    console.print()
    console.print(_agents(result))
    console.print()
    console.print(Text(_together(result["score"])))
    if result.get("diverged"):
        console.print(Text(_diverged(result), style="yellow"))
    for failure in result["failures"]:
        console.print(
            Text(words.plain(f"{failure['run']} failed: {failure['cause']}"), style="bold red")
        )


def _agents(result: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("agent", style="bold")
    for heading in ("mean", "deviation", "runs"):
        table.add_column(heading, justify="right")
    for agent, row in result["table"].items():
        deviation = "–" if row["deviation"] is None else f"{row['deviation']:.1f}"
        table.add_row(Text(agent), f"{row['mean']:.1f}", deviation, str(len(row["runs"])))
    return table


def _together(score: Mapping[str, Any]) -> str:
    best, found = score["best"], score["interval"]
    between = "" if found is None else f" [{found[0]:.1f}, {found[1]:.1f}]"
    return (
        f"oracle {score['value']:.1f}{between}; spread over agents {score['spread']:.1f}, interquartile mean {score['iqm']:.1f}, "
        f"median {score['median']:.1f}, best {best['agent']} {best['value']:.1f}"
    )


def _diverged(result: Mapping[str, Any]) -> str:
    without = result["score_without_diverged"]
    shown = "none is left without them" if without is None else f"without them {without:.1f}"
    return f"{result['diverged']} runs diverged and count with their last finite policy; {shown}"
