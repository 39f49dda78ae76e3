"""What the page says about several cards: ranking, scores side by side, overlaid returns, one dataset over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlassay.report import charts, words
from rlassay.report.charts import Spec, rounded
from rlassay.report.content import View
from rlassay.report.verdicts import verdict_of
from rlassay.report.words import HEADLINE, grouped, meaning_of, title_of, without_copies
from rlassay.results.card import Score, Scorecard


def several_view(
    cards: list[Scorecard],
    names: list[str],
    comparison: Mapping[str, Any] | None,
    history: bool = False,
) -> View:
    """The overview; ranks and ties only where `compare` computed them, lines over time where asked."""
    scores = scores_of(cards)
    leading = words.leading_rank(comparison["ranking"]) if comparison else None
    leading = leading or ("bwd" if "bwd" in scores else next(iter(scores), None))
    ranked = {score: [card.get(score) for card in cards] for score in scores}
    if leading == "verdict":
        ranked = {leading: [card.expected for card in cards], **ranked}
    ranking = charts.ranking_chart(names, ranked)
    sources = {
        str(card.dataset.get("source")): name for card, name in zip(cards, names, strict=True)
    }
    if comparison:
        ranking["ranks"] = _ranks(comparison["ranking"], sources)
    overlaid = charts.overlaid_returns(cards, names)
    figures = {"several-ranking": ranking} if scores else {}
    if overlaid:
        figures["several-returns"] = overlaid
    over_time = history_charts(cards, names) if history or is_history(cards) else {}
    return {
        "history": over_time,
        "lead": _lead(cards, names, leading, comparison, sources),
        **table_view(cards, names, scores),
        "leading": leading,
        "ranked_by": {words.plain(name): _title(name, column) for name, column in ranked.items()},
        "charts": {**figures, **over_time},
        "pooled": comparison is not None,
    }


def scores_of(cards: list[Scorecard]) -> list[str]:
    """Scores that any of the cards has, the headline first."""
    known = {score for card in cards for score in without_copies(card)}
    return _headline_first([score for members in grouped(known).values() for score in members])


def table_view(cards: list[Scorecard], names: list[str], scores: list[str]) -> View:
    """The table of scores side by side."""
    return {
        "scores": [_column(score, cards) for score in scores],
        "rows": [_row(card, name, scores) for card, name in zip(cards, names, strict=True)],
        "verdicts": any(verdict_of(card) for card in cards),
    }


def _title(name: str, column: Sequence[Score | None]) -> str:
    return title_of(name, next(score for score in column if score))


def _headline_first(scores: list[str]) -> list[str]:
    return sorted(scores, key=lambda score: score not in HEADLINE)


def _ranks(ranking: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    return {
        score: {
            sources.get(str(row["source"]), words.plain(row["source"])): {
                "rank": row["rank"],
                "tied": [
                    sources.get(str(other), words.plain(other))
                    for other in row.get("tied_with") or []
                ],
            }
            for row in order
        }
        for score, order in ranking.items()
    }


def _lead(
    cards: list[Scorecard],
    names: list[str],
    leading: str | None,
    comparison: Mapping[str, Any] | None,
    sources: Mapping[str, str],
) -> list[str]:
    sentences = [what_they_are(cards)]
    highest = _highest_return(cards, names)
    if comparison and leading and comparison["ranking"].get(leading):
        order = comparison["ranking"][leading]
        return [*sentences, words.ranking_summary(order, leading, sources, cards), *highest]
    sentences += highest
    sentences.append(
        "They were scored one by one; `rlassay compare` pools their statistics and says which differences are ties."
    )
    return sentences


def what_they_are(cards: list[Scorecard]) -> str:
    """How many, and of which tasks."""
    environments = sorted(
        {words.plain(card.dataset.get("env_id") or "an unnamed task") for card in cards}
    )
    return f"{len(cards)} datasets of {', '.join(environments)}."


def _highest_return(cards: list[Scorecard], names: list[str]) -> list[str]:
    known = [
        (card["return"].value, name)
        for card, name in zip(cards, names, strict=True)
        if "return" in card
    ]
    if not known:
        return []
    value, name = max(known)
    return [f"The highest mean return is {words.number(value)}, of {name}."]


def _column(score: str, cards: list[Scorecard]) -> View:
    example = next(card[score] for card in cards if score in card)
    return {
        "name": words.plain(score),
        "title": title_of(score, example),
        "meaning": meaning_of(score, example),
        "headline": score in HEADLINE,
        "arrow": words.ARROWS[example.direction],
        "direction": example.direction,
        "unit": words.plain(example.unit),
    }


def _row(card: Scorecard, name: str, scores: list[str]) -> View:
    cells = [card.get(score) for score in scores]
    return {
        "name": name,
        "href": "",  # where the name leads to
        "opens": "",
        "environment": words.plain(card.dataset.get("env_id") or "–"),
        "episodes": card.dataset.get("episodes"),
        "transitions": card.dataset.get("transitions"),
        "verdict": verdict_of(card),
        "cells": [
            None
            if cell is None
            else {
                "raw": cell.value,
                "value": words.value_and_interval(cell)[0],
                "interval": words.value_and_interval(cell)[1],
                "doubt": cell.converged is False,
            }
            for cell in cells
        ],
    }


def is_history(cards: list[Scorecard]) -> bool:
    """Whether all cards are of one source, scored at several times."""
    sources = {str(card.dataset.get("source")) for card in cards}
    return len(cards) > 1 and len(sources) == 1


def history_charts(cards: list[Scorecard], names: list[str]) -> dict[str, Spec]:
    """One chart a headline score that at least two of the cards have, under ids of the page."""
    known = {score for card in cards for score in card}
    charts = {}
    for score in words.headline(known):
        rows = [(place, card[score]) for place, card in enumerate(cards, start=1) if score in card]
        if len(rows) < 2:
            continue
        bounds = [found.interval or (found.value, found.value) for _, found in rows]
        charts[f"history-{len(charts)}"] = {
            "kind": "history",
            "title": f"{words.plain(score)} {words.ARROWS[rows[0][1].direction]}",
            "x_label": "card, in the order given",
            "y_label": words.plain(rows[0][1].unit),
            "x": [place for place, _ in rows],
            "y": rounded(found.value for _, found in rows),
            "low": rounded(low for low, _ in bounds),
            "high": rounded(high for _, high in bounds),
            "names": [names[place - 1] for place, _ in rows],
            "caption": _caption(score, cards, names),
        }
    return charts


def _caption(score: str, cards: list[Scorecard], names: list[str]) -> str:
    """From the first card to the last, and whether their intervals meet."""
    rows = [(card[score], name) for card, name in zip(cards, names, strict=True) if score in card]
    (first, began), (last, ended) = rows[0], rows[-1]
    change = last.value - first.value
    text = (
        f"From {words.number(first.value)} in {began} to {words.number(last.value)} in {ended}: "
        f"{'+' if change > 0 else ''}{words.number(change, 3)}"
    )
    if first.interval is None or last.interval is None:
        return f"{text}."
    apart = first.interval[1] < last.interval[0] or last.interval[1] < first.interval[0]
    if not apart:
        return f"{text}, within what the intervals leave open."
    better = (change > 0) == (first.direction == "higher")
    return f"{text}, {'better' if better else 'worse'} beyond the intervals."
