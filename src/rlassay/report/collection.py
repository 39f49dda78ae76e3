"""The datasets of a collection as a terminal table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from rlassay.report.table import Column, show_table


def show_collection(collection: Mapping[str, Any], console: Console | None = None) -> None:
    """Print one row a dataset: size, episodes, mean return, D4RL-normalised score."""
    columns = (
        Column("dataset", style="bold"),
        Column("transitions", "right"),
        Column("episodes", "right"),
        Column("mean return", "right"),
        Column("normalised*", "right"),
    )
    rows = [
        (
            entry["name"],
            f"{entry['transitions']:,}",
            f"{entry['episodes']:,}",
            f"{entry['mean_return']:,.1f}",
            "–" if entry["normalised"] is None else f"{entry['normalised']:.1f}",
        )
        for entry in collection["datasets"]
    ]
    console = console or Console()
    title = f"{collection['env_id']}: datasets in {collection['folder']}"
    show_table(columns, rows, console, title=title)
    console.print("* 0 is D4RL's random return, 100 its expert's", style="dim", highlight=False)
