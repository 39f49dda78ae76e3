"""The command that writes down what good data looks like: learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlassay.cli import gating
from rlassay.cli.options import JsonOption, Reading, emit_json, reads_data

if TYPE_CHECKING:
    from rlassay.data.dataset import Dataset


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("learn", short_help="Write what good datasets meet: rules to hold others to.")(
        learn_command
    )


@reads_data
def learn_command(
    paths: Annotated[
        list[str], typer.Argument(metavar="GOOD...", help="Datasets that are as they should be.")
    ],
    read: Reading,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The rules, as TOML.")],
    margin: Annotated[
        float, typer.Option("--margin", min=0.0, help="Of each range, added on both sides.")
    ] = 0.1,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    json: JsonOption = None,
) -> None:
    """Write what good datasets meet (ranges, lengths, ends, returns, dimensions), for `inspect --rules`."""
    from rlassay.engine.files import write_atomically
    from rlassay.errors import DatasetError
    from rlassay.inspection.rules import learn_all, to_toml

    if out.exists() and not force:
        raise DatasetError(f"{out} exists", remedy="name another place, or replace it with --force")
    good = [_good(source, read) for source in gating.expanded(paths)]
    rules = learn_all(good, margin)
    write_atomically(out, to_toml(rules))
    emit_json(rules, json)
    typer.echo(f"wrote {out}", err=True)


def _good(source: str, read: Reading) -> Dataset:
    """The dataset; one that fails its own inspection teaches nothing."""
    from rlassay.errors import DatasetError
    from rlassay.inspection import inspect_loaded

    inspection, data = inspect_loaded(source, **read.options)
    if data is None or inspection.status == "fail":
        failed = [check.name for check in inspection.checks if check.status == "fail"]
        raise DatasetError(
            f"{source} fails its inspection, so it is no example",
            got=failed,
            remedy="repair it first, or learn from another file",
        )
    return data
