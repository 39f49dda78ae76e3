"""Commands that train and roll out: train, oracle, collect, study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli.options import (
    JsonOption,
    SeedOption,
    SeedsOption,
    SetOption,
    StoreOption,
    emit_json,
    use_store,
)

EnvOption = Annotated[
    str | None, typer.Option("--env", metavar="ID", help="Gymnasium environment; default: the one the data names.")
]  # fmt: skip
ThreadsOption = Annotated[
    int,
    typer.Option("--threads", min=1, help="Compute threads; results are bit-equal only with 1."),
]
PARTIAL = 3  # exit code: some runs failed, the others are reported


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.command("train")(train_command)
    app.command("oracle")(oracle_command)


def train_command(
    agent: Annotated[str, typer.Argument(help="bc, awac, onestep, td3bc, cql, iql or xql.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The dataset.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the run.")],
    env: EnvOption = None,
    seed: SeedOption = 0,
    set: SetOption = None,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", metavar="FILE", help="Sampling weights of `rlassay curate`: .npz with `weights`."),
    ] = None,
    track: Annotated[
        list[str] | None, typer.Option("--track", help="Also log to tensorboard or wandb; may be given twice.")
    ] = None,
    threads: ThreadsOption = 1,
    json: JsonOption = None,
) -> None:  # fmt: skip
    """Train one agent on a dataset; the same command continues a run that was stopped."""
    from rlassay.runtime import keep_compiled_programs, use_threads

    use_threads(threads)
    keep_compiled_programs()
    from rlassay.agents import train_agent
    from rlassay.agents.training import make_settings, read_weights
    from rlassay.formats import load
    from rlassay.progress import progress
    from rlassay.settings import parse_pairs

    settings = make_settings(agent, parse_pairs(set or []))
    data = load(path)
    sampling = None if weights is None else read_weights(weights, data)
    with progress(f"{agent} on {Path(path).name}", settings.updates) as report:
        run = train_agent(
            agent, data, env, folder=out, settings=settings, seed=seed, weights=sampling, track=track or (),
            report=report, command=_command(),
        )  # fmt: skip
    if not emit_json(run.to_json(), json):
        typer.echo(_run_line(run, out))
    _refuse_diverged(run)


def oracle_command(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Datasets; with --published, names of D4RL datasets."),
    ],
    env: EnvOption = None,
    agents: Annotated[
        str | None, typer.Option("--agents", metavar="A,B", help="Only these; default: all of the profile.")
    ] = None,
    profile: Annotated[str, typer.Option("--profile", help="lite, long: 150,000 updates, or paper: 1,000,000.")] = "lite",
    published: Annotated[
        bool, typer.Option("--published", help="Train nothing: the oracle from published tables.")
    ] = False,
    seeds: SeedsOption = 3,
    seed: SeedOption = 0,
    set: SetOption = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Runs at the same time; default: one a core.")
    ] = None,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:  # fmt: skip
    """Train the profile's agents on each dataset: their mean normalised score, its spread, every run."""
    from rlassay.oracle import agents_of, published_oracle

    use_store(store)
    if published:
        results = [published_oracle(path) for path in paths]
    else:
        options = {
            "profile": profile,
            "seeds": seeds,
            "seed": seed,
            "changes": _pairs(set),
            "workers": workers,
        }
        chosen = agents.split(",") if agents else list(agents_of(profile))
        results = [_one_oracle(path, env, chosen, **options) for path in paths]
    several = {"schema": "rlassay.oracles/1", "oracles": results}
    if not emit_json(results[0] if len(results) == 1 else several, json):
        for result in results:
            _show_oracle(result)
    if any(result["failures"] for result in results):
        raise typer.Exit(PARTIAL)


def _one_oracle(path: str, env: str | None, agents: list[str], workers: int | None, **options: Any):
    from rlassay.engine.local import LocalEngine
    from rlassay.formats import load
    from rlassay.oracle import oracle
    from rlassay.progress import progress

    data, total = load(path), len(agents) * options["seeds"]
    with progress(f"oracle of {Path(path).name}", total) as advance:

        def report(done: int, total: int, news: str) -> None:
            advance(done, news)

        result = oracle(
            data, env, path=path, agents=agents, engine=LocalEngine(workers), report=report,
            command=_command(), **options,
        )  # fmt: skip
    return result.to_json()


def _show_oracle(result: dict[str, Any]) -> None:
    score, unit = result["score"], result["unit"]
    typer.echo(f"{result['dataset']['source']}  ({result['profile']}, {unit})")
    for agent, row in result["table"].items():
        deviation = "" if row["deviation"] is None else f" +- {row['deviation']:.1f}"
        typer.echo(f"  {agent:8s} {row['mean']:8.1f}{deviation}")
    interval = score["interval"]
    between = "" if interval is None else f" [{interval[0]:.1f}, {interval[1]:.1f}]"
    typer.echo(
        f"  oracle   {score['value']:8.1f}{between}  spread {score['spread']:.1f}, IQM {score['iqm']:.1f}, "
        f"median {score['median']:.1f}, best {score['best']['agent']} {score['best']['value']:.1f}"
    )
    if result.get("diverged"):
        without = result["score_without_diverged"]
        shown = "none is left without them" if without is None else f"without them {without:.1f}"
        typer.echo(
            f"  {result['diverged']} runs diverged and count with their last finite policy; {shown}"
        )
    for failure in result["failures"]:
        typer.echo(f"  {failure['run']} failed: {failure['cause']}", err=True)


def _run_line(run: Any, out: Path) -> str:
    score = "" if run.score is None else f", normalised score {run.score:.1f}"
    return (
        f"{run.agent} after {run.updates:,} updates: return {run.mean_return:.1f}{score}; see {out}"
    )


def _refuse_diverged(run: Any) -> None:
    from rlassay.errors import SolverError

    if run.diverged_at is not None:
        raise SolverError(
            f"{run.agent} diverged: a number was not finite at update {run.diverged_at:,}, the last finite policy is kept",
            remedy="lower --set learning_rate, or scale rewards with --set reward_scaling=return_range",
        )


def _pairs(given: list[str] | None) -> dict[str, str]:
    from rlassay.settings import parse_pairs

    return parse_pairs(given or [])


def _command() -> str:
    return shlex.join(["rlassay", *sys.argv[1:]])
