"""The command that mends structure: repair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import JsonOption, PathArgument, Reading, emit_json, reads_data


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("repair", short_help="Write a copy without the faults that `inspect` finds.")(
        repair_command
    )


@reads_data
def repair_command(
    path: PathArgument,
    read: Reading,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="The repaired copy; PATH never changes."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="RULE,RULE", help="Apply these rules alone."),
    ] = None,
    actions: Annotated[
        str, typer.Option("--actions", metavar="HOW", help="Into their bounds: clip or rescale.")
    ] = "clip",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and write nothing.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME", help="d4rl, npz, minari, minari-arrow, minari-parquet."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
    json: JsonOption = None,
) -> None:
    """Write a copy without the faults that `inspect` finds, each rule named and counted."""
    from rlassay.repair import repair_file

    rules = [name.strip() for name in only.split(",") if name.strip()] if only else None
    told = repair_file(
        path,
        out,
        only=rules,
        actions=actions,
        to=to,
        force=force,
        dry_run=dry_run,
        reading=read.options,
    )
    for loss in told.get("lost", ()):
        typer.echo(f"rlassay: {loss}", err=True)
    if told["out"]:
        typer.echo(f"wrote {told['out']}", err=True)
    if not emit_json(told, json):
        from rich.console import Console

        from rlassay.report.inspection import show_repair

        show_repair(told, Console())
