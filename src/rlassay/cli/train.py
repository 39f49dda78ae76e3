"""The command that trains one agent: train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli import completing
from rlassay.cli.options import (
    JsonOption,
    Reading,
    SeedOption,
    SetOption,
    emit_json,
    reads_data,
    require_outputs,
    this_command,
)

ThreadsOption = Annotated[
    int,
    typer.Option("--threads", min=1, help="Compute threads; results are bit-equal only with 1."),
]
WeightsOption = Annotated[
    Path | None,
    typer.Option(
        "--weights",
        metavar="FILE",
        help="Sampling weights of `rlassay curate`: .npz with `weights`.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("train", short_help="Train one agent on a dataset; a stopped run continues.")(
        train_command
    )


@reads_data
def train_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="bc, awac, onestep, cql, iql; td3bc, xql; dqn: discrete actions.",
            autocompletion=completing.among(completing.agents),
        ),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The dataset.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the run.")],
    read: Reading,
    seed: SeedOption = 0,
    set: SetOption = None,
    weights: WeightsOption = None,
    track: Annotated[
        list[str] | None,
        typer.Option("--track", help="Also log to tensorboard or wandb; may be given twice."),
    ] = None,
    threads: ThreadsOption = 1,
    json: JsonOption = None,
) -> None:
    """Train one agent on a dataset; the same command continues a run that was stopped."""
    from rlassay.engine.files import require_writable
    from rlassay.runtime import keep_compiled_programs, on_interrupt, use_threads

    require_writable(out, folder=True, streams=False)
    require_outputs(json)
    on_interrupt(f"the last checkpoint in {out} is kept, and the same command continues from it")
    use_threads(threads)
    keep_compiled_programs()
    from rlassay.agents import train_agent
    from rlassay.agents.registry import refuse_unknown
    from rlassay.agents.training import make_settings
    from rlassay.agents.weights import read_weights
    from rlassay.formats import load
    from rlassay.progress import progress
    from rlassay.settings import parse_pairs

    refuse_unknown(agent)
    data = load(path, **read.options)
    settings = make_settings(agent, parse_pairs(set or []), data.discrete_actions)
    sampling = None if weights is None else read_weights(weights, data)
    with progress(f"{agent} on {Path(path).name}", settings.updates) as report:
        run = train_agent(
            agent,
            data,
            read.env_id,
            folder=out,
            settings=settings,
            seed=seed,
            weights=sampling,
            track=track or (),
            report=report,
            command=this_command(),
        )
    if not emit_json(run.to_json(), json):
        typer.echo(_run_line(run, out))
    _refuse_diverged(run)


def _run_line(run: Any, out: Path) -> str:
    if run.held_out is not None:
        return _held_out_line(run, out)
    score = "" if run.score is None else f", normalised score {run.score:.1f}"
    return (
        f"{run.agent} after {run.updates:,} updates: return {run.mean_return:.1f}{score}; see {out}"
    )


def _held_out_line(run: Any, out: Path) -> str:
    found = run.held_out
    interval = "" if found["interval"] is None else " ({:.3f} to {:.3f})".format(*found["interval"])
    return (
        f"{run.agent} after {run.updates:,} updates, best after {found['update']:,}: held-out error"
        f" {found['value']:.3f}{interval}, {found['unit']}; no returns, because {found['reason']}; see {out}"
    )


def _refuse_diverged(run: Any) -> None:
    from rlassay.errors import SolverError

    if run.diverged_at is not None:
        raise SolverError(
            f"{run.agent} diverged: a number was not finite at update {run.diverged_at:,}, the last finite policy is kept",
            remedy="lower --set learning_rate, or scale rewards with --set reward_scaling=return_range",
        )
