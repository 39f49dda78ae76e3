"""Cards and comparisons on a terminal: the short answer first, everything with `--all`, plain in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from rlassay.report import words
from rlassay.report.demonstrations import show_demonstrations
from rlassay.report.series import ASCII_BLOCKS, BLOCKS, episodes_of, plain_card, sparkline
from rlassay.report.table import Column, show_table
from rlassay.report.verdicts import Told, verdict_of
from rlassay.report.words import SHOWN, shared_warnings
from rlassay.results.card import Caution, Score, Scorecard

ASCII = str.maketrans(f"{BLOCKS}↑↓–…", f"{ASCII_BLOCKS}^v-~")
STATUS_STYLE = {"pass": "green", "warn": "yellow", "fail": "bold red"}
TONE_STYLE = {"good": "bold green", "warn": "bold yellow", "bad": "bold red", "neutral": "bold"}
DOUBT = " ?"


def show_cards(cards: list[Scorecard], console: Console, everything: bool = False) -> None:
    """Print one card, or several side by side: verdict, headline scores, warnings; or all there is."""
    cards = [plain_card(card) for card in cards]
    names = words.unique_names(cards)
    with _encodable(console):
        if len(cards) == 1:
            _show_card(cards[0], console, everything)
        else:
            _show_several(cards, names, console, everything)
        _print_footnotes(cards, console, everything)
        _print_warnings(cards, names, console, everything)


def show_comparison(
    comparison: Mapping[str, Any], console: Console, everything: bool = False
) -> None:
    """Print the ranking by the leading score, ties said as ties, then the cards side by side."""
    cards = [Scorecard.from_dict(card) for card in comparison["cards"]]
    names = words.unique_names(cards)
    by_source = {
        str(card.dataset.get("source")): name for card, name in zip(cards, names, strict=True)
    }
    ranking = comparison["ranking"]
    leading = words.leading_rank(ranking)
    with _encodable(console):
        if leading and ranking[leading]:
            _line(console, words.ranking_summary(ranking[leading], leading, by_source, cards))
            _print_ranking(ranking[leading], leading, by_source, console)
            if reason := words.without_distance(cards, names, leading):
                _line(console, reason)
                console.print()
    show_cards(cards, console, everything)


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


def _show_card(card: Scorecard, console: Console, everything: bool) -> None:
    _line(console, " ".join(words.opening(card)))
    told = verdict_of(card)
    if told:
        console.print()
        _print_verdict(told, console)
    if card.demonstrations:
        console.print()
        show_demonstrations(card.demonstrations, console)
    groups = words.grouped(words.without_copies(card))
    for group, names in groups.items() if everything else [("", words.headline(card))]:
        if names:
            console.print()
            _print_scores(card, names, console, group)
    console.print()
    _print_returns(card, console, "episode returns in file order")
    _print_checks(card, console)


def _print_verdict(told: Told, console: Console) -> None:
    if told.label is None:
        _line(console, f"no verdict: {told.why}", "yellow")
        return
    label, why = (told.label, TONE_STYLE[told.tone]), f": {told.why}" if told.why else ""
    console.print(Text.assemble(("verdict ", "dim"), label, why))
    for what, forecast in told.expected:
        _line(console, f"expect of {what}: {forecast}", indent=2)
    if told.action:
        reason = f": {told.reason}" if told.reason else ""
        _line(console, f"advice: {told.action}{reason}", indent=2)
    if told.command:
        console.print(Text(f"  $ {told.command}", style="bold"), soft_wrap=True)
    for sentence in told.evidence:
        _line(console, f"- {sentence}", "dim", indent=2)
    if told.basis:
        _line(console, told.basis, "dim", indent=2)


def _print_scores(card: Scorecard, names: list[str], console: Console, group: str) -> None:
    placed = any(card[name].relative is not None for name in names)
    columns = (
        Column("score", style="bold"),
        Column("value", "right"),
        Column("95 % interval", "right"),
        Column("relative", "right", optional=2),
        Column("what it is", style="dim", optional=1),
    )
    columns = [column for column in columns if column.heading != "relative" or placed]
    rows = []
    for name in names:
        score = card[name]
        value, span = words.value_and_interval(score)
        relative = "" if score.relative is None else words.percent(score.relative)
        row = [
            f"{name} {_arrow(score)}",
            _doubted(value, score),
            span,
            relative,
            _title(name, card),
        ]
        rows.append(row if placed else [*row[:3], row[4]])
    show_table(columns, rows, console, title=group)


def _title(name: str, card: Scorecard) -> str:
    estimator = words.estimator_of(card) if name == "bwd" else None
    return words.title_of(name, card[name]) + (f", {estimator}" if estimator else "")


def _show_several(
    cards: list[Scorecard], names: list[str], console: Console, everything: bool
) -> None:
    _print_verdicts(cards, names, console)
    known = {score for card in cards for score in words.without_copies(card)}
    groups = words.grouped(known) if everything else {"": words.headline(known)}
    for group, scores in groups.items():
        _print_side_by_side(cards, names, scores, console, group)
    _line(console, "episode returns in file order", "dim")
    for card, name in zip(cards, names, strict=True):
        _print_returns(card, console, name)


def _print_verdicts(cards: list[Scorecard], names: list[str], console: Console) -> None:
    told = [(name, verdict_of(card)) for card, name in zip(cards, names, strict=True)]
    rows = []
    for name, verdict in told:
        if verdict is not None:
            label = Text(verdict.label or "no verdict", style=TONE_STYLE[verdict.tone])
            reason = verdict.reason if verdict.label else verdict.why
            rows.append((name, label, verdict.action, reason))
    if rows:
        columns = (
            Column("dataset", style="bold"),
            Column("verdict"),
            Column("advice"),
            Column("because", fold=True, optional=1),
        )
        show_table(columns, rows, console)
        console.print()


def _print_side_by_side(
    cards: list[Scorecard], names: list[str], scores: list[str], console: Console, group: str
) -> None:
    """As many scores a table as fit, the rest in further tables: nothing is cut off or left out."""
    if group:
        _line(console, group, "bold")
    name_width = max(map(len, [*names, "dataset"]))
    room, piece = console.width - name_width, []
    for score in scores:
        width = 2 + max(len(f"{score} ↑"), *[_cell_width(card.get(score)) for card in cards])
        if piece and width > room:
            _side_table(cards, names, piece, console)
            room, piece = console.width - name_width, []
        room -= width
        piece.append(score)
    if piece:
        _side_table(cards, names, piece, console)


def _cell_width(score: Score | None) -> int:
    return 1 if score is None else max(map(len, words.value_and_interval(score)))


def _side_table(
    cards: list[Scorecard], names: list[str], scores: list[str], console: Console
) -> None:
    heads = [next(card[score] for card in cards if score in card) for score in scores]
    columns = [
        Column("dataset", style="bold"),
        *[
            Column(f"{score} {_arrow(head)}", "right")
            for score, head in zip(scores, heads, strict=True)
        ],
    ]
    rows = [
        [name, *[_cell(card.get(score)) for score in scores]]
        for card, name in zip(cards, names, strict=True)
    ]
    show_table(columns, rows, console)
    console.print()


def _cell(score: Score | None) -> Text:
    if score is None:
        return Text("–", style="dim")
    value, span = words.value_and_interval(score)
    return _doubted(value, score).append(f"\n{span}", style="dim")


def _print_ranking(
    order: list[Mapping[str, Any]], by: str, names: Mapping[str, str], console: Console
) -> None:
    console.print()
    heading, level = ("expected", 80) if by == "verdict" else (by, 95)
    columns = (
        Column("rank", "right"),
        Column("dataset", style="bold"),
        Column(heading, "right"),
        Column(f"{level} % interval", "right"),
        Column("tied with rank", style="yellow", fold=True),
    )
    ranks = {row["source"]: str(row["rank"]) for row in order}
    rows = []
    for row in order:
        bounds = row.get("interval")
        value, span = words.together(row["value"], (bounds[0], bounds[1]) if bounds else None)
        tied = [ranks.get(other, words.plain(other)) for other in row.get("tied_with") or []]
        ties = list(dict.fromkeys(tied))  # equal values share a rank
        name = names.get(row["source"], words.plain(row["source"]))
        rows.append((str(row["rank"]), name, value, span, ", ".join(ties) or "–"))
    show_table(columns, rows, console)
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
    passed = sum(check.get("status") == "pass" for check in checks)
    _line(console, f"structure: {passed} of {len(checks)} checks passed", "dim")
    for check in checks:
        if check.get("status") != "pass":
            _print_check(check, console)


def _print_check(check: Mapping[str, Any], console: Console) -> None:
    status = str(check.get("status"))
    label = (f"{status.upper()} ", STATUS_STYLE.get(status, ""))
    message = words.plain(f"{check.get('name')}: {check.get('message')}")
    console.print(Text.assemble(label, message))
    if check.get("remedy"):
        _line(console, f"remedy: {check['remedy']}", "dim", indent=5)


def _print_footnotes(cards: list[Scorecard], console: Console, everything: bool) -> None:
    """What the marks mean, and how much of the cards is not shown."""
    known = {score for card in cards for score in words.without_copies(card)}
    shown = known if everything else set(words.headline(known))
    if not shown:
        return
    notes = ["↑ higher is better, ↓ lower is better"]
    if any(card[name].converged is False for card in cards for name in shown if name in card):
        notes.append("? the fit behind it has not converged: read with care")
    if len(shown) < len(known):
        notes.append("more scores with --all")
    console.print()
    _line(console, "; ".join(notes), "dim")


def _print_warnings(
    cards: list[Scorecard], names: list[str], console: Console, everything: bool
) -> None:
    found = shared_warnings(cards, names)
    for warning, owners in list(found.items())[: None if everything else SHOWN]:
        _print_warning(warning, console, ", ".join(owners) if len(cards) > 1 else "")
    if len(found) > SHOWN and not everything:
        console.print()
        _line(console, f"{len(found) - SHOWN} less important warnings with --all", "dim")


def _print_warning(warning: Caution, console: Console, owners: str = "") -> None:
    console.print()
    named = (words.plain(f"{owners}: ") if owners else "", "bold")
    console.print(Text.assemble(("warning ", "yellow"), named, words.plain(warning.message)))
    if warning.remedy:
        _line(console, f"remedy: {warning.remedy}", "dim", indent=2)


def _doubted(value: str, score: Score) -> Text:
    doubt = DOUBT if score.converged is False else ""
    return Text(value + doubt, style="yellow" if doubt else "default")


def _arrow(score: Score) -> str:
    return words.ARROWS[score.direction]


def _line(console: Console, text: str, style: str = "default", indent: int = 0) -> None:
    """Text from data: no markup, no emoji codes, no highlighting, no control characters."""
    line = Text(words.plain(text), style=style)
    console.print(Padding(line, (0, 0, 0, indent), expand=False) if indent else line)
