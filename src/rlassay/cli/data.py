"""Commands that read and write datasets: inspect, convert, curate."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
