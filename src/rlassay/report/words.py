"""Numbers and cards in words, shared by the terminal and the page. Claims no more than the card says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rlassay.report.naming import title_of
from rlassay.results.card import Score, Scorecard

ARROWS = {"higher": "↑", "lower": "↓"}
VALUE_SCORES = ("q", "advantage", "pd", "bwd")  # families that rest on the critic
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def number(value: float, digits: int = 4) -> str:
    """A number a person can read: `digits` significant ones, thousands set apart by commas."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - _exponent(value, digits))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exponent(value: float, digits: int) -> int:
    """The power of ten after rounding, so that 999.96 counts as a thousand."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def interval(score: Score, digits: int = 4) -> str:
    """`low to high`, or a dash where no interval is known."""
    return "–" if score.interval is None else _span(score.interval, digits)


def _span(bounds: tuple[float, float], digits: int = 4) -> str:
    return f"{number(bounds[0], digits)} to {number(bounds[1], digits)}"


def together(value: float, bounds: tuple[float, float] | None) -> tuple[str, str]:
    """A value and its interval with equally many decimals, so that they can be compared by eye."""
    if bounds is None:
        return number(value), "–"
    parts = (value, *bounds)
    largest = max(map(abs, parts))
    if largest >= 1e9 or largest < 1e-4:
        return number(value), _span(bounds)
    decimals = max(0, 3 - _exponent(largest, 4))
    texts = [f"{part:,.{decimals}f}" for part in parts]
    while all("." in text and text.endswith(("0", ".")) for text in texts):
        texts = [text[:-1].removesuffix(".") for text in texts]
    return texts[0], f"{texts[1]} to {texts[2]}"


def value_and_interval(score: Score) -> tuple[str, str]:
    """Both of a score."""
    return together(score.value, score.interval)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def plain(text: object) -> str:
    """Text from a dataset without control characters that could move a cursor or flip a line."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text))


def short_name(dataset: Mapping[str, Any]) -> str:
    """The last part of the source's path, which is how people call a dataset."""
    source = plain(dataset.get("source") or "dataset")
    if re.search(r"[<>\"'&]", source):  # a name full of markup is shown whole
        return source
    return PurePosixPath(source.replace("\\", "/")).name or source


def unique_names(cards: list[Scorecard]) -> list[str]:
    """Short names where they differ, else the whole source, else numbered."""
    names = [short_name(card.dataset) for card in cards]
    if len(set(names)) < len(names):
        names = [plain(card.dataset.get("source") or "dataset") for card in cards]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def summary(card: Scorecard) -> list[str]:
    """The card in sentences: size, return and where it lies, distance, and what to doubt."""
    sentences = [_size(card), *_return_sentences(card)]
    if "bwd" in card:
        score = card["bwd"]
        sentences.append(
            f"Its {title_of('bwd', score)} is {_with_interval(score)}; {score.direction} is better."
        )
    doubtful = unconverged(card)
    if doubtful:
        sentences.append(f"Not converged, so read with care: {', '.join(doubtful)}.")
    return sentences


def opening(card: Scorecard) -> list[str]:
    """What stands above a table that gives the numbers: size, where the return lies, what to doubt."""
    sentences = [_size(card)]
    if "return" not in card:
        sentences += _return_sentences(card)
    elif card["return"].relative is not None:
        place = percent(card["return"].relative)
        sentences.append(
            f"Its mean return lies {place} of the way from the low to the high reference return."
        )
    return sentences


def _size(card: Scorecard) -> str:
    data = card.dataset
    where = f" of {plain(data['env_id'])}" if data.get("env_id") else ""
    return (
        f"{short_name(data)} holds {_count(data.get('episodes'), 'episode')} "
        f"({_count(data.get('transitions'), 'transition')}){where}."
    )


def _count(value: Any, noun: str) -> str:
    if value is None:
        return f"an unknown number of {noun}s"
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def _return_sentences(card: Scorecard) -> list[str]:
    if "return" not in card:
        return ["It has no returns, so only scores that need no reward are given."]
    score = card["return"]
    place = "; no reference returns are known to place it."
    if score.relative is not None:
        place = f", {percent(score.relative)} of the way from the low to the high reference return."
    sentences = [f"The mean return is {_with_interval(score)}{place}"]
    if "return_top10" in card:
        sentences.append(
            f"The best tenth of the episodes returns {_with_interval(card['return_top10'])}."
        )
    return sentences


def _with_interval(score: Score) -> str:
    if score.interval is None:
        return f"{number(score.value)} (no interval)"
    return f"{number(score.value)} (95 % interval {_span(score.interval)})"


def unconverged(card: Scorecard) -> list[str]:
    return [name for name, score in card.scores.items() if score.converged is False]


def leading_rank(ranking: Mapping[str, Any]) -> str | None:
    """The order that is told first: by the score to expect, else by the distance, else whatever there is."""
    first = [name for name in ("verdict", "bwd") if name in ranking]
    return next(iter([*first, *ranking]), None)


def ranking_summary(order: list[Mapping[str, Any]], by: str, names: Mapping[str, str]) -> str:
    """Who is first by one score, and with whom it is tied."""
    first = order[0]
    leader = names.get(first["source"], plain(first["source"]))
    by = "the score to expect" if by == "verdict" else by
    ties = [names.get(other, plain(other)) for other in first.get("tied_with") or []]
    if ties:
        return f"By {by}, {leader} has the best value, but is tied with {', '.join(ties)}: the data cannot tell them apart."
    return f"By {by}, {leader} ranks first of {len(order)}, with no tie."
