"""Several cards as a history: each headline score from card to card, with its intervals."""

from __future__ import annotations

from rlassay.report import naming, words
from rlassay.report.charts import Spec, rounded
from rlassay.results.card import Scorecard


def is_history(cards: list[Scorecard]) -> bool:
    """Whether all cards are of one source, scored at several times."""
    sources = {str(card.dataset.get("source")) for card in cards}
    return len(cards) > 1 and len(sources) == 1


def history_charts(cards: list[Scorecard], names: list[str]) -> dict[str, Spec]:
    """One chart a headline score that at least two of the cards have, under ids of the page."""
    known = {score for card in cards for score in card}
    charts = {}
    for score in naming.headline(known):
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
