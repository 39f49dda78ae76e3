"""Results as short HTML for notebooks: tables in the notebook's own colours, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rlassay.report import words
from rlassay.report.verdicts import verdict_of
from rlassay.report.words import SHOWN, by_importance
from rlassay.results.card import Comparison, Scorecard

if TYPE_CHECKING:
    from rlassay.curation.result import Curation
    from rlassay.data.dataset import Dataset


def card_html(card: Scorecard) -> str:
    """Verdict, headline scores and the most important warnings."""
    rows = [_score_row(name, card) for name in words.headline(card)]
    hidden = len(words.without_copies(card)) - len(rows)
    more = f" {hidden} more scores in to_frame()." if hidden > 0 else ""
    told = [f"<b>Warning:</b> {_text(warning.message)}" for warning in by_importance(card.warnings)]
    return _block(
        words.short_name(card.dataset),
        " ".join(words.opening(card)) + more,
        _verdict(card),
        _table(("score", "value", "95 % interval", "what it is"), rows),
        *[_paragraph(line) for line in told[:SHOWN]],
        _paragraph(f"{len(told) - SHOWN} less important warnings.") if len(told) > SHOWN else "",
    )


def comparison_html(comparison: Comparison) -> str:
    """The order by the leading score, and the headline scores of every dataset."""
    cards = list(comparison.cards)
    names = words.unique_names(cards)
    sources = {
        str(card.dataset.get("source")): name for card, name in zip(cards, names, strict=True)
    }
    ranking = comparison.to_dict()["ranking"]
    leading = words.leading_rank(ranking)
    order = ranking.get(leading) if leading else None
    summary = words.ranking_summary(order, leading, sources, cards) if leading and order else ""
    scores = words.headline({score for card in cards for score in card})
    rows = [
        [_text(name), *[_cell(card, score) for score in scores]]
        for card, name in zip(cards, names, strict=True)
    ]
    heads = [_arrowed(score, cards) for score in scores]
    return _block(f"{len(cards)} datasets", summary, _table(("dataset", *heads), rows))


def dataset_html(data: Dataset) -> str:
    """Size, shape and returns."""
    facts = [
        ("episodes", f"{data.episode_count:,}"),
        ("transitions", f"{len(data):,}"),
        ("observations", str(data.observations.shape[1:])),
        ("actions", str(data.actions.shape[1:])),
        ("format", words.plain(data.origin.format)),
        ("environment", words.plain(data.origin.env_id or "not named")),
        ("returns", _returns(data)),
    ]
    rows = [(_text(name), _text(value)) for name, value in facts]
    return _block(words.short_name({"source": data.origin.source}), "", _table(("", ""), rows))


def curation_html(curation: Curation) -> str:
    """What was kept, by which rule, and what that leaves."""
    total = len(curation.kept) + len(curation.dropped)
    rule = ", ".join(
        f"{key} {value}" for key, value in curation.rule.to_dict().items() if key != "only"
    )
    facts = [
        ("rule", rule),
        ("kept", f"{len(curation.kept):,} of {total:,} episodes"),
        ("transitions left", f"{len(curation.data):,}"),
        ("returns left", _returns(curation.data)),
    ]
    rows = [(_text(name), _text(value)) for name, value in facts]
    return _block(
        words.short_name({"source": curation.source}),
        "",
        _table(("", ""), rows),
        *[_paragraph(_text(note)) for note in curation.notes()],
    )


def _returns(data: Dataset) -> str:
    if data.rewards is None:
        return "no rewards"
    returns = np.asarray(data.episode_returns, float)
    low, high = (words.number(float(value)) for value in (returns.min(), returns.max()))
    return f"mean {words.number(float(returns.mean()))}, from {low} to {high}"


def _score_row(name: str, card: Scorecard) -> list[str]:
    score = card[name]
    value, span = words.value_and_interval(score)
    doubt = (
        ' <abbr title="not converged: read with care">?</abbr>' if score.converged is False else ""
    )
    title = words.title_of(name, score)
    arrow = words.ARROWS[score.direction]
    return [f"{_text(name)} {arrow}", f"{value}{doubt}", span, _text(title)]


def _cell(card: Scorecard, name: str) -> str:
    if name not in card:
        return "–"
    value, span = words.value_and_interval(card[name])
    return f"{value}<br><small>{span}</small>"


def _arrowed(name: str, cards: Sequence[Scorecard]) -> str:
    example = next(card[name] for card in cards if name in card)
    return f"{name} {words.ARROWS[example.direction]}"


def _verdict(card: Scorecard) -> str:
    told = verdict_of(card)
    if told is None:
        return ""
    if told.label is None:
        return _paragraph(f"<b>No verdict:</b> {_text(told.why)}")
    lines = [f"<b>Verdict: {_text(told.label)}</b> {_text(told.why)}"]
    lines += [f"expect of {what}: {_text(forecast)}" for what, forecast in told.expected]
    if told.action:
        lines.append(f"advice: {_text(told.action)}: {_text(told.reason)}")
    if told.command:
        lines.append(f"<code>{_text(told.command)}</code>")
    return _paragraph("<br>".join(lines))


def _block(title: str, summary: str, *parts: str) -> str:
    head = f"<b>{_text(title)}</b>"
    return (
        f'<div class="rlassay">{_paragraph(head)}{_paragraph(_text(summary))}{"".join(parts)}</div>'
    )


def _paragraph(content: str) -> str:
    return f'<p style="margin:4px 0">{content}</p>' if content else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already; headings are text."""
    if not rows:
        return ""
    top = "".join(f"<th>{_text(head)}</th>" for head in heads) if any(heads) else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    return escape(words.plain(value))
