"""Commands that read and write datasets: inspect, convert, curate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import JsonOption, emit_json

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="File, dataset folder or Minari id.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Read as this format, where two layouts look alike."
    ),
]
EnvOption = Annotated[
    str | None,
    typer.Option("--env", metavar="ID", help="The environment, where the file names none."),
]
MaskOption = Annotated[
    str | None,
    typer.Option("--mask", metavar="KEY", help="robomimic: read this filter key's demos."),
]
StepsOption = Annotated[
    int | None,
    typer.Option(
        "--max-episode-steps", min=1, help="Step limit of the task, where timeouts are missing."
    ),
]
KeysOption = Annotated[
    str | None,
    typer.Option(
        "--observation-keys", metavar="A,B", help="Vectors to join as the observation, in order."
    ),
]
MarkdownOption = Annotated[
    str | None,
    typer.Option("--markdown", metavar="FILE", help="Write the result as Markdown; `-` prints it."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.command("inspect")(inspect)
    app.command("convert")(convert)


def inspect(
    path: PathArgument,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    format: FormatOption = None,
    env: EnvOption = None,
    mask: MaskOption = None,
    max_episode_steps: StepsOption = None,
    observation_keys: KeysOption = None,
) -> None:
    """Check structure, alignment and ranges; exit 1 when a check fails."""
    from rlassay.inspection import inspect_source

    inspection = inspect_source(
        path,
        format=format,
        env_id=env,
        mask=mask,
        max_episode_steps=max_episode_steps,
        observation_keys=_split(observation_keys),
    )
    quiet = emit_json(inspection.to_dict(), json)
    quiet = _emit_markdown(inspection, markdown) or quiet
    if not quiet:
        from rich.console import Console

        from rlassay.report.inspection import show_inspection

        show_inspection(inspection, Console())
    if inspection.status == "fail":
        raise typer.Exit(1)


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="File, dataset folder or Minari id.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="x.hdf5 (D4RL), x.npz, or name-vN (Minari).")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME", help="d4rl, npz, minari, minari-arrow, minari-parquet."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
    format: FormatOption = None,
    env: EnvOption = None,
    mask: MaskOption = None,
    max_episode_steps: StepsOption = None,
    observation_keys: KeysOption = None,
) -> None:
    """Write a dataset in another format, and say what that format cannot hold."""
    from rlassay.formats import convert as convert_dataset

    data, notes = convert_dataset(
        source,
        out,
        to=to,
        overwrite=force,
        format=format,
        env_id=env,
        mask=mask,
        max_episode_steps=max_episode_steps,
        observation_keys=_split(observation_keys),
    )
    for note in (*data.origin.notes, *notes):
        typer.echo(f"rlassay: {note.message}", err=True)
    typer.echo(
        f"wrote {len(data):,} transitions in {data.episode_count:,} episodes to {out}", err=True
    )


def _split(keys: str | None) -> list[str] | None:
    return [key.strip() for key in keys.split(",") if key.strip()] if keys else None


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
