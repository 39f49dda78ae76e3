"""The index of a folder of cards: one page with every dataset's verdict and scores, sorted and filtered in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rlassay import __version__
from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError
from rlassay.report import words
from rlassay.report.page import asset, policy, template
from rlassay.report.series import plain_card
from rlassay.report.several import scores_of, table_view, what_they_are
from rlassay.results.card import Scorecard, card_files, read_cards

SCRIPTS = ("base.js", "ranking.js", "index.js")
NEXT = "A name opens its card; `rlassay report CARD.json` draws one, `rlassay compare` ranks those of one task."


def write_index(folder: Path, path: Path, errors: Sequence[tuple[str, str]] = ()) -> int:
    """Write the page over all cards below `folder`; `errors` are sources without a card, and why. How many there are."""
    known = slim_cards(folder)
    write_atomically(path, index_html(known, folder, path, errors))
    return len(known)


def slim_cards(folder: Path) -> list[tuple[Path, Scorecard]]:
    """The cards of a folder without the series of their figures, which would fill memory; damaged ones are left out."""
    found = []
    for file in card_files(folder):
        try:
            cards = read_cards(file)
        except DatasetError:
            continue
        found += [(file, plain_card(replace(card, series={}, diagnosis={}))) for card in cards]
    return found


def index_html(
    known: Sequence[tuple[Path, Scorecard]],
    folder: Path,
    path: Path,
    errors: Sequence[tuple[str, str]],
) -> str:
    """The page as text."""
    cards = [card for _, card in known]
    names = [words.plain(str(file.relative_to(folder).with_suffix(""))) for file, _ in known]
    table = table_view(cards, names, scores_of(cards))
    for row, (file, _) in zip(table["rows"], known, strict=True):
        row["href"] = _link(file, path)
    early, script = asset("theme.js"), "\n".join(asset(name) for name in SCRIPTS)
    return template("index.html").render(
        several={**table, "lead": [what_they_are(cards), NEXT]},
        errors=[tuple(words.plain(part) for part in each) for each in errors],
        style=asset("page.css"),
        early=early,
        script=script,
        policy=policy([early, script]),
        version=__version__,
    )


def _link(file: Path, page: Path) -> Any:
    """Relative where the page lies beside the cards, so that the folder can be moved as a whole."""
    try:
        return quote(str(file.resolve().relative_to(page.resolve().parent)), errors="replace")
    except ValueError:
        return file.resolve().as_uri()
