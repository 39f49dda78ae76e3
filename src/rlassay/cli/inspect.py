"""The command that checks structure: inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli import gating
from rlassay.cli.options import JsonOption, Reading, emit_json, reads_data, require_outputs

if TYPE_CHECKING:
    from rlassay.data.dataset import Dataset
    from rlassay.inspection import Inspection

MarkdownOption = Annotated[
    str | None,
    typer.Option("--markdown", metavar="FILE", help="Write the result as Markdown; `-` prints it."),
]
RulesOption = Annotated[
    Path | None,
    typer.Option("--rules", metavar="FILE", help="Hold the data to what `rlassay learn` wrote."),
]
MovementOption = Annotated[
    bool,
    typer.Option(
        "--movement/--no-movement", help="Without rewards: which episodes to watch, and why."
    ),
]
PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="PATH...", help="Files, dataset folders, patterns or Minari ids."),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("inspect")(inspect_command)


@reads_data
def inspect_command(
    paths: PathsArgument,
    read: Reading,
    rules: RulesOption = None,
    strict: gating.StrictOption = False,
    fail_if: gating.FailIfOption = None,
    junit: gating.JunitOption = None,
    github: gating.GithubOption = False,
    json: JsonOption = None,
    markdown: MarkdownOption = None,
    movement: MovementOption = True,
) -> None:
    """Check structure, alignment and ranges; exit 1 when a check fails."""
    from rlassay.inspection import inspect_loaded

    require_outputs(json, markdown, junit)
    sources = gating.expanded(paths)
    gate = gating.opened(sources, gating.inspection_names, strict, fail_if, junit, github)
    held = _rules(rules)
    inspections: list[Inspection] = []
    movements: list[dict[str, Any] | None] = []
    for source in sources:
        with gate.reading(source):
            inspection, data = inspect_loaded(source, rules=held, **read.options)
            movements.append(_movement(inspection, data, read.options) if movement else None)
            inspections.append(inspection)
            cases = gating.inspection_cases(inspection)
            gate.judge(source, cases, gating.inspection_facts(inspection, data))
    quiet = emit_json(_json(inspections, movements, gate), json)
    quiet = _emit_markdown(inspections, movements, markdown) or quiet
    if not quiet:
        _show(inspections, movements, gate.several)
    gate.finish()


def _rules(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    from rlassay.inspection.rules import read_rules

    return read_rules(path)


def _movement(
    inspection: Inspection, data: Dataset | None, options: dict[str, Any]
) -> dict[str, Any] | None:
    """Data without rewards: what its movements say, and how to open the first episode worth watching."""
    if data is None or data.rewards is not None or inspection["shapes"].status == "fail":
        return None
    from rlassay.formats import with_extras
    from rlassay.motion import demonstrations
    from rlassay.motion.opening import open_commands

    data = with_extras(data, data.origin.source, **options)
    report = demonstrations(data)
    commands = open_commands(data, report)
    return report.to_dict() | ({"open": commands} if commands else {})


def _json(
    inspections: list[Inspection], movements: list[dict[str, Any] | None], gate: gating.Gate
) -> dict[str, Any]:
    """One file keeps its own schema; several are a list, with those that could not be read beside it."""
    from rlassay.inspection.results import SEVERAL_SCHEMA

    told = [
        inspection.to_dict() | ({"demonstrations": moved} if moved else {})
        for inspection, moved in zip(inspections, movements, strict=True)
    ]
    if not gate.several:
        return told[0]
    return {"schema": SEVERAL_SCHEMA, "inspections": told, "errors": gate.errors}


def _show(
    inspections: list[Inspection], movements: list[dict[str, Any] | None], several: bool
) -> None:
    from rich.console import Console

    from rlassay.report.demonstrations import show_demonstrations
    from rlassay.report.inspection import show_findings, show_inspection

    console = Console()
    for inspection, moved in zip(inspections, movements, strict=True):
        (show_findings if several else show_inspection)(inspection, console)
        if moved:
            show_demonstrations(moved, console)


def _emit_markdown(
    inspections: list[Inspection], movements: list[dict[str, Any] | None], target: str | None
) -> bool:
    """Write Markdown where `--markdown` says; True when stdout now belongs to it."""
    if target is None:
        return False
    from rlassay.report import demonstrations
    from rlassay.report.inspection import markdown

    page = "\n".join(
        markdown(inspection) + (demonstrations.markdown(moved) if moved else "")
        for inspection, moved in zip(inspections, movements, strict=True)
    )
    if target == "-":
        sys.stdout.write(page)
        return True
    from rlassay.engine.files import write_atomically

    write_atomically(Path(target), page)
    typer.echo(f"wrote {target}", err=True)
    return False
