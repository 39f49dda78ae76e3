"""The command that reproduces the paper's tables and figures: study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli import completing
from rlassay.cli.options import (
    AddressOption,
    EngineOption,
    JsonOption,
    StoreOption,
    emit_json,
    require_outputs,
    say,
    use_store,
)

PARTIAL = 3  # exit code: some cells of the grid have no result
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="table1, fig1, fig2, table2, runtime, confirm, long, paper, curation, conflict, parts, worlds, verdict, cql, real, wild, demonstrations or discrete.",
        autocompletion=completing.among(completing.studies),
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Files of others: D4RL's for table1 (with the published oracle), Pendulum's for real and wild.",
    ),
]
OracleOption = Annotated[
    str | None,
    typer.Option(
        "--oracle", metavar="NAME", help="verdict: calibrate on lite or long; else the best."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("study", short_help="Reproduce a table or figure of the paper.")(study_command)


def study_command(
    name: NameArgument,
    profile: Annotated[
        str, typer.Option("--profile", help="Budget of what is run: lite or paper.")
    ] = "lite",
    run: Annotated[
        bool, typer.Option("--run", help="First compute what is missing: hours; resumable.")
    ] = False,
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Where raw results and tables live.")
    ] = Path("results"),
    data: DataOption = None,
    zoo: Annotated[
        Path, typer.Option("--zoo", metavar="DIR", help="The zoo of a checkout of the project.")
    ] = Path("zoo"),
    oracle: OracleOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    json_file: JsonOption = None,
    store: StoreOption = None,
) -> None:
    """Reproduce a table or figure of the paper from results/, computing what is missing with --run."""
    from rlassay.engine.choice import engine_named, use_engine
    from rlassay.engine.files import require_writable
    from rlassay.runtime import on_interrupt
    from rlassay.study import OF_OTHERS, study

    use_store(store)
    use_engine(engine_named(engine, address))
    require_outputs(json_file)
    if run:
        require_writable(results, folder=True, streams=False)
    on_interrupt("finished cells and checkpoints are kept, and the same command continues")

    def report(line: str) -> None:
        say(line, err=True)

    if data is not None and name not in OF_OTHERS:
        from rlassay.study.d4rl import d4rl_table

        text, missing = d4rl_table(name, data, results, report)
    else:
        text, missing = study(
            name,
            profile=profile,
            run=run,
            results=results,
            zoo=zoo,
            data=data,
            oracle=oracle,
            report=report,
        )
    _show(name, text, missing, json_file)


def _show(name: str, text: str, missing: list[str], json_file: str | None) -> None:
    from rich.console import Console

    from rlassay.report.study import show_study

    outcome = {
        "schema": "rlassay.study/1",
        "name": name,
        "complete": not missing,
        "missing": missing,
        "table": text,
    }
    if not emit_json(outcome, json_file):
        show_study(text, Console())
    if missing:
        typer.echo(_what_is_missing(missing), err=True)
        raise typer.Exit(PARTIAL)


def _what_is_missing(cells: list[str]) -> str:
    more = f"; and {len(cells) - 3} more" if len(cells) > 3 else ""
    shown = "; ".join(cells[:3]) + more
    return f"incomplete, {len(cells)} cells are empty: {shown}. Add --run to compute them."
