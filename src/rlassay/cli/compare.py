"""The command that ranks datasets of one task: compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlassay.cli import gating
from rlassay.cli.options import (
    JsonOption,
    Reading,
    SeedOption,
    SeedsOption,
    SetOption,
    reads_data,
    require_outputs,
)
from rlassay.cli.score import (
    AllOption,
    HtmlOption,
    PresetOption,
    ReferenceOption,
    ScoresOption,
    scoring_options,
    show_cards,
)


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("compare")(compare_command)


@reads_data
def compare_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Datasets; or cards of --json, or a folder of --out."
        ),
    ],
    read: Reading,
    preset: PresetOption = "default",
    seeds: SeedsOption = 1,
    seed: SeedOption = 0,
    scores: ScoresOption = None,
    reference: ReferenceOption = None,
    set: SetOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare although environments or rules differ.")
    ] = False,
    everything: AllOption = False,
) -> None:
    """Rank datasets of one task, with pooled statistics."""
    import rlassay

    require_outputs(json, html)
    options = scoring_options(preset, seeds, seed, scores, reference, set)
    sources = [source for path in gating.expanded(paths) for source in _cards_or_data(path, read)]
    comparison = rlassay.compare(sources, force=force, show_progress=True, **options)
    show_cards(list(comparison.cards), json, html, comparison.to_dict(), everything)


def _cards_or_data(path: str, read: Reading) -> list[Any]:
    """A .json file that rlassay wrote holds cards, and so may a folder; anything else is a dataset."""
    import rlassay
    from rlassay.results.card import card_files, holds_cards, is_card_folder, read_cards

    if path.endswith(".json") and Path(path).is_file() and holds_cards(Path(path)):
        return read_cards(Path(path))
    if is_card_folder(Path(path)):
        return [card for file in card_files(Path(path)) for card in read_cards(file)]
    return [rlassay.load(path, **read.options)]
