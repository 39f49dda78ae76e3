"""The command that writes a dataset in another format: convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import Reading, reads_data, say


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("convert", short_help="Write a dataset in another format.")(convert_command)


@reads_data
def convert_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="File, dataset folder, Minari id, minari://ID or hf://OWNER/NAME."
        ),
    ],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="x.hdf5 (D4RL), x.npz, or name-vN (Minari).")
    ],
    read: Reading,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME", help="d4rl, npz, minari, minari-arrow, minari-parquet."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
) -> None:
    """Write a dataset in another format, and say what that format cannot hold."""
    from rlassay.formats import convert
    from rlassay.runtime import on_interrupt

    on_interrupt(f"{out} is as it was before")
    data, notes = convert(source, out, to=to, overwrite=force, **read.options)
    for note in (*data.origin.notes, *notes):
        say(f"rlassay: {note.message}", err=True)
    typer.echo(
        f"wrote {len(data):,} transitions in {data.episode_count:,} episodes to {out}", err=True
    )
