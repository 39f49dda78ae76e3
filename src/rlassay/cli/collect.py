"""The command that makes graded data: collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import (
    JsonOption,
    SeedOption,
    SetOption,
    StoreOption,
    emit_json,
    require_outputs,
    say,
    use_store,
)


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("collect", short_help="Train, keep actors at seven levels, write graded datasets.")(
        collect_command
    )


def collect_command(
    env: Annotated[
        str, typer.Argument(metavar="ENV", help="A Gymnasium id, such as Hopper-v5 or CartPole-v1.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the datasets.")
    ],
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many runs.")] = 2,
    seed: SeedOption = 0,
    from_zoo: Annotated[
        bool,
        typer.Option("--from-zoo", help="Take trained actors from the zoo instead of training."),
    ] = False,
    zoo: Annotated[
        Path, typer.Option("--zoo", metavar="DIR", help="The zoo of a checkout of the project.")
    ] = Path("zoo"),
    transitions: Annotated[
        int | None, typer.Option("--transitions", min=1, help="Rows of each dataset.")
    ] = None,
    settings: SetOption = None,
    json_file: JsonOption = None,
    store: StoreOption = None,
) -> None:
    """Train TD3 (DQN for discrete actions), keep its actors at seven levels, and write graded datasets."""
    from rlassay.collect import collect
    from rlassay.collect.settings import CollectSettings
    from rlassay.engine.files import require_writable
    from rlassay.report.collection import show_collection
    from rlassay.runtime import on_interrupt
    from rlassay.settings import change, parse_pairs

    use_store(store)
    require_writable(out, folder=True, streams=False)
    require_outputs(json_file)
    on_interrupt("checkpoints and finished datasets are kept, and the same command continues")
    changes = parse_pairs(settings or [])
    if transitions is not None:
        changes["transitions"] = str(transitions)
    collection = collect(
        env,
        out,
        seeds=seeds,
        seed=seed,
        zoo=zoo if from_zoo else None,
        settings=change(CollectSettings(), changes),
        report=lambda line: say(line, err=True),
    )
    if not emit_json(collection.to_dict(), json_file):
        show_collection(collection.to_dict())
