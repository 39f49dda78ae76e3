"""The command that checks structure: inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import JsonOption, emit_json, require_outputs
from rlassay.cli.reading import PathArgument, Reading, reads_data

MarkdownOption = Annotated[
    str | None,
    typer.Option("--markdown", metavar="FILE", help="Write the result as Markdown; `-` prints it."),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("inspect")(inspect_command)


@reads_data
def inspect_command(
    path: PathArgument,
    read: Reading,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
) -> None:
    """Check structure, alignment and ranges; exit 1 when a check fails."""
    from rlassay.inspection import inspect_source

    require_outputs(json, markdown)
    inspection = inspect_source(path, **read.options)
    quiet = emit_json(inspection.to_dict(), json)
    quiet = _emit_markdown(inspection, markdown) or quiet
    if not quiet:
        from rich.console import Console

        from rlassay.report.inspection import show_inspection

        show_inspection(inspection, Console())
    if inspection.status == "fail":
        raise typer.Exit(1)


def _emit_markdown(inspection, target: str | None) -> bool:
    """Write Markdown where `--markdown` says; True when stdout now belongs to it."""
    if target is None:
        return False
    from rlassay.report.inspection import markdown

    if target == "-":
        sys.stdout.write(markdown(inspection))
        return True
    from rlassay.engine.files import write_atomically

    write_atomically(Path(target), markdown(inspection))
    return False
