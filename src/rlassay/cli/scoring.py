"""Options and output that `score` and `compare` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli.options import emit_json
from rlassay.cli.outputs import in_existing_folder, say_written

if TYPE_CHECKING:
    from rlassay.results.card import Scorecard

PresetOption = Annotated[
    str, typer.Option("--preset", help="default, paper (Algorithm 1 as printed) or fast.")
]
ScoresOption = Annotated[
    str | None,
    typer.Option("--scores", metavar="A,B", help="Only these scores."),
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference", metavar="LOW,HIGH", help="Returns that count as 0 and 1 in `relative`."
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", callback=in_existing_folder, help="Write the report page."
    ),
]

NoStoreOption = Annotated[
    bool,
    typer.Option(
        "--no-store", help="Neither look for a card of this file in the run store nor keep one."
    ),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Show every score and every warning on the terminal.")
]


def scoring_options(preset, seeds, seed, scores, reference, pairs) -> dict[str, Any]:
    """Arguments that `score` and `compare` share."""
    from rlassay.runtime import compute_where_called
    from rlassay.settings import parse_pairs

    compute_where_called()
    return {
        "preset": preset,
        "seeds": seeds,
        "seed": seed,
        "scores": scores.split(",") if scores else None,
        "reference": _reference(reference),
        "settings": parse_pairs(pairs or []),
    }


def _reference(text: str | None) -> tuple[float, float] | None:
    from rlassay.errors import SettingsError

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(
            "--reference cannot be read", allowed="LOW,HIGH, two numbers", got=text
        ) from None
    return low, high


def show_cards(
    cards: list[Scorecard],
    json: str | None,
    html: Path | None,
    comparison: dict[str, Any] | None = None,
    everything: bool = False,
) -> None:
    """JSON where asked, the page where asked, and a table unless stdout carries the JSON."""
    from rlassay.results.card import cards_to_dict

    quiet = emit_json(comparison or cards_to_dict(cards), json)
    if html is not None:
        from rlassay.report.page import write_page

        write_page(cards, html, comparison)
        say_written(html)
    if quiet:
        return
    from rich.console import Console

    from rlassay.report.terminal import show_cards as show_each
    from rlassay.report.terminal import show_comparison

    if comparison is None:
        show_each(cards, Console(), everything)
    else:
        show_comparison(comparison, Console(), everything)
