"""Commands that train and roll out: train, oracle, collect, study."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
