"""The command line: `rlassay COMMAND`. Each command is a few lines around one public verb.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys

import typer

from rlassay.cli.guarding import (
    GuardedCommands,
    ReaderGone,
    flush_output,
    forget_output,
    make_output_safe,
    sentence_of,
)
from rlassay.errors import RlassayError
from rlassay.runtime import leave_on_signals, stand_by_if_leaving


class _Commands(GuardedCommands):
    """Third parties' scores, costs and agents are known to every command that runs; help and version load nothing."""

    def resolve_command(self, ctx, args):
        name, command, rest = super().resolve_command(ctx, args)
        if "--help" not in rest:
            from rlassay.runtime import load_plugins

            load_plugins()
        return name, command, rest


app = typer.Typer(
    name="rlassay",
    cls=_Commands,
    help="How good is this offline-RL dataset, before anyone trains on it?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from rlassay.cli.versions import version_lines

        typer.echo("\n".join(version_lines()))
        raise typer.Exit()


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Print versions, for a bug report, and exit.",
    ),
) -> None:
    """How good is this offline-RL dataset, before anyone trains on it?"""


def _register_commands() -> None:
    from rlassay.cli import (
        collect,
        compare,
        convert,
        curate,
        inspect,
        learn,
        oracle,
        repair,
        report,
        runs,
        score,
        study,
        train,
    )

    data = (inspect, repair, learn, convert, curate)
    training = (train, oracle, collect, study, runs)
    for verb in (*data, score, compare, report, *training):
        verb.register(app)


_register_commands()


def main() -> None:
    """Run a command; a user's mistake is one sentence on stderr and its exit code, never a traceback."""
    leave_on_signals()
    make_output_safe()
    try:
        try:
            app(prog_name="rlassay")
        finally:
            stand_by_if_leaving()
            flush_output()
    except ReaderGone as error:
        forget_output()
        sys.exit(error.exit_code)
    except RlassayError as error:
        typer.echo(f"rlassay: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # stdout itself: a reader that has gone, or a disk that is full
        forget_output()
        found = sentence_of(error)
        if found is not None and not isinstance(found, ReaderGone):
            typer.echo(f"rlassay: {found}", err=True)
        sys.exit(found.exit_code if found is not None else 1)
