"""The command line: `rlassay COMMAND`. Each command is a few lines around one public verb.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys

import typer
from typer.core import TyperGroup

from rlassay import __version__
from rlassay.errors import RlassayError


class _Commands(TyperGroup):
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
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rlassay {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Print the version and exit.",
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
        oracle,
        report,
        score,
        study,
        train,
    )

    for verb in (inspect, convert, curate, score, compare, report, train, oracle, collect, study):
        verb.register(app)


_register_commands()


def main() -> None:
    """Run a command; a user's mistake is one sentence on stderr and its exit code, never a traceback."""
    try:
        app(prog_name="rlassay")
    except RlassayError as error:
        typer.echo(f"rlassay: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("rlassay: interrupted; a long job continues from its last checkpoint", err=True)
        sys.stderr.flush()
        os._exit(
            130
        )  # XLA may still be computing in its threads, and crashes when Python is torn down around it
    except BrokenPipeError:  # the reader of a pipe has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
