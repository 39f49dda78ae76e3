"""The command that renders saved cards: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import in_existing_folder, require_outputs, say_written


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("report", short_help="Render saved cards, comparisons or curations as one page.")(
        report_command
    )


def report_command(
    cards: Annotated[
        list[Path], typer.Argument(metavar="CARD.json...", help="Files written by --json.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="FILE", callback=in_existing_folder, help="The page to write."
        ),
    ] = Path("report.html"),
    history: Annotated[
        bool,
        typer.Option("--history", help="Draw the scores from card to card, in the order given."),
    ] = False,
) -> None:
    """Render saved scorecards, a saved comparison or a saved curation as one HTML page."""
    from rlassay.report.saved import drawn_from, read_curation

    require_outputs(out)
    with drawn_from(cards):
        curation = read_curation(cards)
        if curation is not None:
            from rlassay.report.curated import write_curation_page

            write_curation_page(curation, out)
        else:
            _write_cards(cards, out, history)
    say_written(out)


def _write_cards(paths: list[Path], out: Path, history: bool) -> None:
    from rlassay.report.page import write_page
    from rlassay.report.saved import read_saved

    cards, comparison = read_saved(paths)
    write_page(cards, out, comparison, history)
