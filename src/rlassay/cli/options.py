"""Options that several commands share, and the ways a result is printed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli.outputs import in_existing_folder, say_written

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        callback=in_existing_folder,
        help="Write the result as JSON; `-` prints it to stdout and nothing else.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change any setting; may be given several times."
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="The first random seed.")]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Run store; default $RLASSAY_STORE, else the user's state folder.",
    ),
]


def say(text: str, *, err: bool = False) -> None:
    """Print text that may come from a file: nothing in it moves the terminal's cursor."""
    from rlassay.words import printable

    typer.echo(printable(text, lines=True), err=err)


def require_outputs(*targets: str | Path | None) -> None:
    """Refuse targets that cannot be written, before the work is done; `-` is stdout."""
    from rlassay.engine.files import require_writable

    for target in targets:
        if target is not None and str(target) != "-":
            require_writable(target)


def emit_json(value: dict[str, Any], target: str | None) -> bool:
    """Write JSON where `--json` says; True when stdout now belongs to it."""
    if target is None:
        return False
    if target == "-":
        sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")
        return True
    from rlassay.engine.files import write_json

    write_json(Path(target), value)
    say_written(target)
    return False


def use_store(folder: Path | None) -> None:
    """Let `--store` win over `$RLASSAY_STORE` for this process and its workers."""
    import os

    from rlassay.runtime import expanded

    if folder is not None:
        os.environ["RLASSAY_STORE"] = str(expanded(folder).resolve())


def this_command() -> str:
    """The command line that is running, as one would type it."""
    return shlex.join(["rlassay", *sys.argv[1:]])
