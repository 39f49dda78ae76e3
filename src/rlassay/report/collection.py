"""The datasets of a collection as a terminal table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def show_collection(collection: Mapping[str, Any]) -> None:
    """Print one row a dataset: size, episodes, mean return, D4RL-normalised score."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{collection['env_id']}: datasets in {collection['folder']}")
    table.add_column("dataset")
    for name in ("transitions", "episodes", "mean return", "normalised (0 random, 100 expert)"):
        table.add_column(name, justify="right")
    for entry in collection["datasets"]:
        normalised = "" if entry["normalised"] is None else f"{entry['normalised']:.1f}"
        table.add_row(
            entry["name"],
            f"{entry['transitions']:,}",
            f"{entry['episodes']:,}",
            f"{entry['mean_return']:,.1f}",
            normalised,
        )
    Console().print(table)
