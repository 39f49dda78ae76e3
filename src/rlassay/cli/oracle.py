"""The command that trains many agents on a dataset: oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli.options import (
    AddressOption,
    EngineOption,
    JsonOption,
    Reading,
    SeedOption,
    SeedsOption,
    SetOption,
    StoreOption,
    emit_json,
    reads_data,
    require_outputs,
    this_command,
    use_store,
)

PARTIAL = 3  # exit code: some runs failed, the others are reported


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("oracle", short_help="Train a profile's agents on each dataset: their mean score.")(
        oracle_command
    )


@reads_data
def oracle_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Datasets; with --published, names of D4RL datasets."
        ),
    ],
    read: Reading,
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="A,B", help="Only these; default: all of the profile."),
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="lite, long: 150,000 updates, or paper: 1,000,000.")
    ] = "lite",
    published: Annotated[
        bool, typer.Option("--published", help="Train nothing: the oracle from published tables.")
    ] = False,
    seeds: SeedsOption = 3,
    seed: SeedOption = 0,
    set: SetOption = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Runs at the same time; default: one a core."),
    ] = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Train the profile's agents on each dataset: their mean normalised score, its spread, every run."""
    from rich.console import Console

    from rlassay.engine.choice import engine_named
    from rlassay.oracle import published_oracle
    from rlassay.report.oracle import show_oracle
    from rlassay.runtime import on_interrupt
    from rlassay.settings import parse_pairs

    use_store(store)
    require_outputs(json)
    on_interrupt("finished runs and checkpoints are kept, and the same command continues from them")
    if published:
        results = [published_oracle(path).to_json() for path in paths]
    else:
        options = {
            "profile": profile,
            "seeds": seeds,
            "seed": seed,
            "changes": parse_pairs(set or []),
            "engine": engine_named(engine, address, workers),
        }
        chosen = agents.split(",") if agents else None
        results = [_one_oracle(path, read, chosen, **options) for path in paths]
    several = {"schema": "rlassay.oracles/1", "oracles": results}
    if not emit_json(results[0] if len(results) == 1 else several, json):
        for result in results:
            show_oracle(result, Console())
    if any(result["failures"] for result in results):
        raise typer.Exit(PARTIAL)


def _one_oracle(
    path: str, read: Reading, agents: list[str] | None, **options: Any
) -> dict[str, Any]:
    from rlassay.formats import load
    from rlassay.oracle import agents_of, oracle
    from rlassay.progress import progress

    data = load(path, **read.options)
    agents = agents or list(agents_of(options["profile"], data.discrete_actions))
    total = len(agents) * options["seeds"]
    with progress(f"oracle of {Path(path).name}", total) as advance:

        def report(done: int, total: int, news: str) -> None:
            advance(done, news)

        result = oracle(
            data,
            read.env_id,
            path=path,
            as_read=read != Reading(env_id=read.env_id, memory=read.memory),
            agents=agents,
            report=report,
            command=this_command(),
            **options,
        )
    return result.to_json()
