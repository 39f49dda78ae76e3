"""The report page: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from rlassay import __version__
from rlassay.engine.files import write_atomically
from rlassay.errors import SettingsError
from rlassay.report import words
from rlassay.report.content import View, card_view
from rlassay.report.series import episodes_of, plain_card
from rlassay.report.several import several_view
from rlassay.results.card import Scorecard

MAX_BYTES = 2_000_000
EPISODE_BYTES = 300_000  # of the page may hold episodes; the rest is BokehJS and text
MOST_POINTS, FEWEST_POINTS = 5_000, 100
BYTES_PER_NUMBER = 16 / 3  # four bytes in base64
BOKEH = ("bokeh.min.js", "bokeh-api.min.js")
SCRIPTS = ("base.js", "charts.js", "ranking.js", "explorer.js", "timeline.js", "start.js")


def write_page(
    cards: list[Scorecard],
    path: str | Path,
    comparison: Mapping[str, Any] | None = None,
    history: bool = False,
) -> None:
    """Write the page of one or several cards; `comparison` adds ranks and ties, `history` lines over time."""
    write_atomically(Path(path), page_html(cards, comparison, history))


def page_html(
    cards: list[Scorecard], comparison: Mapping[str, Any] | None = None, history: bool = False
) -> str:
    """The page as text, at most 2 MB: where many datasets do not fit, fewer are shown in detail."""
    if not cards:
        raise SettingsError(
            "a report needs at least one scorecard",
            remedy="name a file written by `rlassay score --json`",
        )
    cards = [plain_card(card) for card in cards]
    detailed = len(cards)
    while True:
        html = _render(cards, comparison, detailed, history)
        if len(html.encode(errors="backslashreplace")) <= MAX_BYTES:
            return html
        if detailed == 0 or len(cards) == 1:
            raise SettingsError(
                "the report does not fit into one page",
                allowed=f"{MAX_BYTES:,} bytes",
                got=f"{len(html.encode()):,}",
                remedy="render fewer scorecards at a time",
            )
        detailed //= 2


def _render(
    cards: list[Scorecard], comparison: Mapping[str, Any] | None, detailed: int, history: bool
) -> str:
    names = words.unique_names(cards)
    limit = _points_per_card(cards[:detailed])
    share = 1 / max(1, sum(bool(card.demonstrations) for card in cards[:detailed]))
    views = [
        card_view(card, name, f"card{place}", limit, share)
        for place, (card, name) in enumerate(zip(cards[:detailed], names, strict=False))
    ]
    several = several_view(cards, names, comparison, history) if len(cards) > 1 else None
    for row, view in zip(several["rows"] if several else (), views, strict=False):
        row |= {"href": f"#{view['key']}", "opens": view["key"]}
    early, scripts = asset("theme.js"), _scripts()
    return template("page.html").render(
        title=names[0] if len(cards) == 1 else f"{len(cards)} datasets",
        views=views,
        several=several,
        left_out=len(cards) - detailed,
        data=embedded_json({"charts": _charts(views, several)}),
        style=asset("page.css"),
        early=early,
        scripts=scripts,
        policy=policy([early, *scripts]),
        version=__version__,
    )


def _charts(views: list[View], several: View | None) -> dict[str, Any]:
    everything = dict(several["charts"]) if several else {}
    for view in views:
        everything.update(view["charts"])
    return everything


def _points_per_card(cards: list[Scorecard]) -> int:
    """Share the room for episodes among the cards."""
    tables = [table for card in cards if (table := episodes_of(card))]
    columns = sum(len(table.columns) for table in tables) or 1
    return max(FEWEST_POINTS, min(MOST_POINTS, int(EPISODE_BYTES / (columns * BYTES_PER_NUMBER))))


def embedded_json(value: Any) -> str:
    """JSON that can stand inside a script element: no `<` can end it or begin another."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _scripts() -> list[str]:
    """BokehJS from the installed package, then ours."""
    folder = files("bokeh") / "server" / "static" / "js"
    library = [(folder / name).read_text(encoding="utf-8") for name in BOKEH]
    ours = "\n".join(asset(name) for name in SCRIPTS)
    return [script.replace("</script", "<\\/script") for script in (*library, ours)]


def policy(scripts: list[str]) -> str:
    """Only these very scripts may run, and nothing may be fetched: enforced by the browser."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _with_code(text: str) -> Any:
    """Words between backticks as code; everything is escaped first."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def asset(name: str) -> str:
    """The text of a file of the assets."""
    return (files("rlassay.report") / "assets" / name).read_text(encoding="utf-8")


def template(name: str) -> Any:
    """A template of the assets: everything is escaped, and a missing value is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    environment.filters["minus"] = lambda text: str(text).replace("-", "\N{MINUS SIGN}")
    return environment.get_template(name)
