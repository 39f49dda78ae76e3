"""Cards and comparisons on a terminal: tables that fold on narrow ones and stay plain in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rlassay.report import words
from rlassay.report.series import ASCII_BLOCKS, BLOCKS, episodes_of, plain_card, sparkline
from rlassay.results.card import Caution, Score, Scorecard, in_reading_order

NARROW = 70  # below this width a table becomes one block per row
SIDE_BY_SIDE = ("bwd", "return", "q", "return_top10", "pd")  # of several cards, most telling first
ASCII = str.maketrans(f"{BLOCKS}↑↓–…", f"{ASCII_BLOCKS}^v-~")
STATUS_STYLE = {"pass": "green", "warn": "yellow", "fail": "bold red"}


def show_cards(cards: list[Scorecard], console: Console) -> None:
    """Print one card in full, or several as one table followed by their warnings."""
    cards = [plain_card(card) for card in cards]
    with _encodable(console):
        if len(cards) == 1:
            _show_card(cards[0], console)
        else:
            _show_several(cards, console)


def show_comparison(comparison: Mapping[str, Any], console: Console) -> None:
    """Print the ranking by each score, ties said as ties, then the cards side by side."""
    cards = [Scorecard.from_dict(card) for card in comparison["cards"]]
    names = words.unique_names(cards)
    by_source = {
        str(card.dataset.get("source")): name for card, name in zip(cards, names, strict=True)
    }
    ranking = comparison["ranking"]
    leading = "bwd" if "bwd" in ranking else next(iter(ranking), None)
    with _encodable(console):
        if leading and ranking[leading]:
            _print_ranking(ranking[leading], leading, by_source, console)
    show_cards(cards, console)


@contextmanager
def _encodable(console: Console) -> Iterator[None]:
    """On a terminal without Unicode print the nearest ASCII, and `?` for what has none."""
    if console.encoding.lower().startswith("utf"):
        yield
        return
    with console.capture() as captured:
        yield
    text = captured.get().translate(ASCII)
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))


def _show_several(cards: list[Scorecard], console: Console) -> None:
    names = words.unique_names(cards)
    _print_side_by_side(cards, names, console)
    console.print()
    _line(console, "episode returns in file order", "dim")
    for card, name in zip(cards, names, strict=True):
        _print_returns(card, console, name)
    shared: dict[Caution, list[str]] = {}
    for card, name in zip(cards, names, strict=True):
        for warning in card.warnings:
            shared.setdefault(warning, []).append(name)
    for warning, owners in shared.items():
        _print_warning(warning, console, ", ".join(owners))


def _show_card(card: Scorecard, console: Console) -> None:
    _line(console, words.short_name(card.dataset), "bold")
    _line(console, " ".join(words.summary(card)))
    console.print()
    if console.width < NARROW:
        _print_score_blocks(card, console)
    else:
        console.print(_score_table(card))
    console.print()
    _print_returns(card, console, "episode returns in file order")
    _print_checks(card, console)
    for warning in card.warnings:
        _print_warning(warning, console)


def _score_table(card: Scorecard) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("score", style="bold")
    table.add_column("better")
    for heading in ("value", "95 % interval", "relative"):
        table.add_column(heading, justify="right")
    table.add_column("meaning", style="dim", overflow="ellipsis", no_wrap=True)
    for name in in_reading_order(card):
        score = card[name]
        table.add_row(
            Text(words.plain(name)),
            f"{_arrow(score)} {score.direction}",
            _value(score),
            words.interval(score),
            "–" if score.relative is None else words.percent(score.relative),
            Text(words.title(name, score)),
        )
    return table


def _print_score_blocks(card: Scorecard, console: Console) -> None:
    for name in in_reading_order(card):
        score = card[name]
        _line(
            console,
            f"{_arrow(score)} {words.plain(name)}  {words.number(score.value)}",
            "bold",
        )
        details = words.interval(score)
        if score.relative is not None:
            details += f", {words.percent(score.relative)} relative"
        if score.converged is False:
            details += ", not converged"
        _line(console, f"  {details}", "dim")


def _print_side_by_side(cards: list[Scorecard], names: list[str], console: Console) -> None:
    """A table with as many scores as fit, the most telling ones; blocks where not even three do."""
    known = {score for card in cards for score in card}
    wanted = [score for score in SIDE_BY_SIDE if score in known] or in_reading_order(known)[:5]
    for count in range(len(wanted), min(3, len(wanted)) - 1, -1):
        table = _side_table(cards, names, in_reading_order(wanted[:count]))
        wide = console.options.update(max_width=10_000)
        if Measurement.get(console, wide, table).maximum <= console.width:
            console.print(table)
            return
    _print_side_blocks(cards, names, in_reading_order(wanted), console)


def _side_table(cards: list[Scorecard], names: list[str], shown: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("dataset", style="bold", overflow="fold")
    for score in shown:
        example = next(card[score] for card in cards if score in card)
        table.add_column(f"{words.plain(score)} {_arrow(example)}", justify="right")
    for card, name in zip(cards, names, strict=True):
        table.add_row(Text(name), *[_cell(card.get(score)) for score in shown])
    return table


def _print_side_blocks(
    cards: list[Scorecard], names: list[str], shown: list[str], console: Console
) -> None:
    for card, name in zip(cards, names, strict=True):
        _line(console, name, "bold")
        for score in (score for score in shown if score in card):
            value = card[score]
            _line(
                console,
                f"  {_arrow(value)} {score} {words.number(value.value)} ({words.interval(value)})",
            )


def _cell(score: Score | None) -> Text:
    if score is None:
        return Text("–", style="dim")
    cell = _value(score)
    if score.interval is not None:
        cell.append(f"\n{words.interval(score)}", style="dim")
    return cell


def _print_ranking(
    order: list[Mapping[str, Any]], by: str, names: Mapping[str, str], console: Console
) -> None:
    _line(console, words.ranking_summary(order, by, names))
    console.print()
    for row in order:
        name = names.get(row["source"], words.plain(row["source"]))
        bounds = row.get("interval")
        span = f" ({words.number(bounds[0])} to {words.number(bounds[1])})" if bounds else ""
        ties = [names.get(other, words.plain(other)) for other in row.get("tied_with") or []]
        text = Text(f"{row['rank']:>3}  ", style="dim")
        text.append(words.plain(name), style="bold")
        text.append(f"  {words.number(row['value'])}{span}", style="default")
        if ties:
            text.append(f"  tied with {', '.join(ties)}", style="yellow")
        console.print(text)
    console.print()


def _print_returns(card: Scorecard, console: Console, name: str) -> None:
    """The returns as a line of blocks between their lowest and highest."""
    episodes = episodes_of(card)
    if episodes is None:
        return
    low, high = words.number(episodes.returns.min()), words.number(episodes.returns.max())
    line = sparkline(episodes.returns, max(8, min(48, console.width - len(low) - len(high) - 4)))
    text = Text(f"{words.plain(name)}\n", style="default")
    text.append(low, style="dim").append(f" {line} ", style="cyan").append(high, style="dim")
    console.print(text)


def _print_checks(card: Scorecard, console: Console) -> None:
    checks = card.inspection.get("checks") or []
    if not checks:
        return
    console.print()
    passed = sum(check.get("status") == "pass" for check in checks)
    _line(console, f"structure: {passed} of {len(checks)} checks passed", "dim")
    for check in checks:
        if check.get("status") != "pass":
            _print_check(check, console)


def _print_check(check: Mapping[str, Any], console: Console) -> None:
    status = str(check.get("status"))
    text = Text(f"{status.upper()} ", style=STATUS_STYLE.get(status, ""))
    text.append(words.plain(f"{check.get('name')}: {check.get('message')}"), style="default")
    console.print(text)
    if check.get("remedy"):
        _line(console, f"     {check['remedy']}", "dim")


def _print_warning(warning: Caution, console: Console, owners: str = "") -> None:
    console.print()
    text = Text("warning ", style="yellow")
    text.append(words.plain(f"{owners}: " if owners else ""), style="bold")
    text.append(words.plain(warning.message), style="default")
    console.print(text)
    if warning.remedy:
        _line(console, f"  remedy: {warning.remedy}", "dim")


def _value(score: Score) -> Text:
    doubt = "" if score.converged is not False else " ?"
    return Text(words.number(score.value) + doubt, style="yellow" if doubt else "default")


def _arrow(score: Score) -> str:
    return words.ARROWS[score.direction]


def _line(console: Console, text: str, style: str = "default") -> None:
    """Text from data: no markup, no emoji codes, no highlighting, no control characters."""
    console.print(Text(words.plain(text), style=style))
