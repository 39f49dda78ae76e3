"""The command that judges datasets: score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli.options import JsonOption, SeedOption, SeedsOption, SetOption
from rlassay.cli.reading import Reading, reads_data
from rlassay.cli.scoring import (
    HtmlOption,
    PresetOption,
    ReferenceOption,
    ScoresOption,
    scoring_options,
    show_cards,
)


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("score")(score_command)


@reads_data
def score_command(
    read: Reading,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Datasets; without one, the bundled samples."),
    ] = None,
    preset: PresetOption = "default",
    seeds: SeedsOption = 1,
    seed: SeedOption = 0,
    scores: ScoresOption = None,
    reference: ReferenceOption = None,
    set: SetOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    episodes: Annotated[
        Path | None,
        typer.Option(
            "--episodes", metavar="FILE", help="Write scores of every episode: .parquet or .csv."
        ),
    ] = None,
) -> None:
    """Score datasets: how good are they, before anyone trains on them?"""
    import rlassay

    options = scoring_options(preset, seeds, seed, scores, reference, set)
    sources = paths or _samples()
    _refuse_one_table_of_many(episodes, sources)
    cards = []
    for source in sources:
        cards.append(rlassay.score(source, read=read.options, show_progress=True, **options))
        if episodes is not None:
            _write_episodes(rlassay.load(source, **read.options), episodes, options)
    show_cards(cards, json, html)


def _samples() -> list[str]:
    from rlassay.errors import DatasetError
    from rlassay.samples import paths

    found = [str(path) for path in paths()]
    if not found:
        raise DatasetError("this installation carries no samples", remedy="name a dataset")
    return found


def _refuse_one_table_of_many(episodes: Path | None, sources: list[str]) -> None:
    from rlassay.errors import SettingsError

    if episodes is not None and len(sources) > 1:
        raise SettingsError(
            "--episodes writes the table of one dataset", got=f"{len(sources)} paths"
        )


def _write_episodes(data, path: Path, options: dict[str, Any]) -> None:
    import rlassay
    from rlassay.results.episode_table import write_episode_table

    chosen = {name: options[name] for name in ("preset", "seed", "settings")}
    write_episode_table(path, rlassay.episode_scores(data, **chosen))
    typer.echo(f"wrote {path}", err=True)
