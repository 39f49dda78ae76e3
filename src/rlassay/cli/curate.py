"""The command that keeps what is worth keeping: curate. Its options are the fields of `Rule` and `Request`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rlassay.cli.fields import takes_fields
from rlassay.cli.options import (
    JsonOption,
    PathArgument,
    Reading,
    SeedOption,
    SetOption,
    emit_json,
    reads_data,
    require_outputs,
)
from rlassay.curation.request import Request
from rlassay.curation.rule import Rule

Preset = Annotated[
    str, typer.Option("--preset", help="How scores are computed: default, paper or fast.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.command(
        "curate", short_help="Keep the episodes that are worth it: a copy, a mask or weights."
    )(curate_command)


@reads_data(mask="--from-mask")
@takes_fields(rule=Rule, wishes=Request)
def curate_command(
    path: PathArgument,
    read: Reading,
    rule: dict[str, Any],
    wishes: dict[str, Any],
    preset: Preset = "default",
    settings: SetOption = None,
    seed: SeedOption = 0,
    json: JsonOption = None,
) -> None:
    """Keep the episodes that are worth it: a filtered copy, a mask, a list, or weights."""
    from rlassay.curation.command import curate_file
    from rlassay.settings import parse_pairs

    require_outputs(json)
    scoring = {"preset": preset, "settings": parse_pairs(settings or [])}
    request = Request(path, Rule(**rule), **wishes, seed=seed, read=read.options, scoring=scoring)
    result = curate_file(request)
    if not emit_json(result, json):
        from rich.console import Console

        from rlassay.report.curation import show_curation

        show_curation(result, Console())
