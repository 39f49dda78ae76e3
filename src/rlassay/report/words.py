"""Numbers and cards in words, shared by the terminal and the page. Claims no more than the card says.

Also how scores are called and in which order and groups they are read, and which warnings matter most: what makes
numbers wrong, then what makes them doubtful, then what to bear in mind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from rlassay.results.card import Caution, Score, Scorecard, in_reading_order
from rlassay.words import numbered

ARROWS = {"higher": "↑", "lower": "↓"}
VALUE_SCORES = ("q", "advantage", "pd", "bwd")  # families that rest on the critic
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
HEADLINE = ("return", "return_top10", "q", "bwd", "bc_error")  # the short card, in its order
GROUPS = {
    "What the data earned": (
        "return",
        "return_by_step",
        "return_top10",
        "reward",
        "tq",
        "eri",
        "rpsv",
    ),
    "What its actions are worth": (
        "q",
        "advantage",
        "pd",
        "bwd",
        "bwd.dual",
        "bwd.exact",
        "bwd.tail",
        "bwd.sinkhorn",
        "extractable",
    ),
    "How it behaves and what it covers": ("bc_error", "eas", "knn_entropy", "saco"),
}
OTHERS = "Further scores"
SHOWN = 5  # of the short card; the others are counted
# Most important first. A code that is not named here stands between doubts and remarks.
WRONG = (
    "rewards_differ",
    "actions_in_other_units",
    "same_data",
    "no_rewards",
    "rewards_missing",
    "constant_reward",
    "dones_as_terminals",
    "dones_inside",
    "both_flags",
    "ends_unknown",
    "timeouts_missing",
    "unflagged_ends",
    "one_step_episodes",
    "actions_beyond_convention",
)
DOUBTFUL = (
    "tiny_dataset",
    "one_episode",
    "no_verdict",
    "critic_not_converged",
    "transport_not_converged",
    "horizon_beyond_discount",
    "critic_not_checked",
    "actions_unexplained",
    "unseen_actions",
    "whole_number_actions",
    "unknown_successors",
)
REMARKS = (
    "score_unavailable",
    "action_bounds_from_data",
    "action_count_from_data",
    "reference_note",
    "env_from_name",
    "left_out",
    "cameras_left_out",
    "empty_episodes",
    "joined",
    "extras",
    "next_observations",
    "terminals",
)
_LAST_DOUBT = len(WRONG) + len(DOUBTFUL)
_PLACES = {code: place for place, code in enumerate((*WRONG, *DOUBTFUL))} | {
    code: place for place, code in enumerate(REMARKS, start=_LAST_DOUBT + 1)
}


def title_of(name: str, score: Score | None = None) -> str:
    """The name a person would use, as the card carries it; cards of version 0.1 have none."""
    return (score.title if score else "") or name


def meaning_of(name: str, score: Score | None = None) -> str:
    """One sentence on what the number says; empty in cards of version 0.1."""
    return score.meaning if score else ""


def headline(names: Iterable[str]) -> list[str]:
    """The few scores of the short card; where there is none of them, the first five of what there is."""
    known = list(names)
    return [name for name in HEADLINE if name in known] or in_reading_order(known)[:5]


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by what they tell, the headline ones first in each group; empty groups are left out."""
    left = list(names)
    groups: dict[str, list[str]] = {}
    for group, members in GROUPS.items():
        found = [name for name in members if name in left]
        groups[group] = [name for name in found if name in HEADLINE]
        groups[group] += [name for name in found if name not in HEADLINE]
        left = [name for name in left if name not in found]
    groups[OTHERS] = sorted(left)
    return {group: found for group, found in groups.items() if found}


def estimator_of(card: Scorecard) -> str | None:
    """The estimator that `bwd` is in this card, as its diagnosis names it."""
    transport: dict[str, Any] = card.diagnosis.get("transport") or {}
    found = transport.get("estimator")
    return str(found) if found else None


def without_copies(card: Scorecard) -> list[str]:
    """The card's scores, less the family member that `bwd` already is: one number, one row."""
    copy = f"bwd.{estimator_of(card)}"
    same = "bwd" in card and copy in card and card[copy].value == card["bwd"].value
    return [name for name in card if not (same and name == copy)]


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


def together(value: float, bounds: tuple[float, float] | None) -> tuple[str, str]:
    """A value and its interval with equally many decimals, so that they can be compared by eye."""
    if bounds is None:
        return number(value), "–"
    parts = (value, *bounds)
    largest = max(map(abs, parts))
    if largest >= 1e9 or largest < 1e-4:
        return number(value), " to ".join(map(number, bounds))
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
    return numbered(names)


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
    value, span = value_and_interval(score)
    return f"{value} (95 % interval {span})"


def unconverged(card: Scorecard) -> list[str]:
    return [name for name, score in card.scores.items() if score.converged is False]


def leading_rank(ranking: Mapping[str, Any]) -> str | None:
    """The order that is told first: by the score to expect, else by the distance, else by return, else whatever there is."""
    first = [name for name in ("verdict", "bwd", "return") if name in ranking]
    return next(iter([*first, *ranking]), None)


def ranking_summary(
    order: list[Mapping[str, Any]], by: str, names: Mapping[str, str], cards: Iterable[Scorecard]
) -> str:
    """Who is first by one score, and with whom it is tied; nobody where the rewards are not in one unit."""
    if any(warning.code == "rewards_differ" for card in cards for warning in card.warnings):
        return "The rewards of these datasets are not in one unit: their order means nothing until they are (see the warnings)."
    first = order[0]
    leader = names.get(first["source"], plain(first["source"]))
    by = "the score to expect" if by == "verdict" else by
    tied: list[str] = first.get("tied_with") or []
    ties = [names.get(other, plain(other)) for other in tied]
    if ties:
        return f"By {by}, {leader} has the best value, but is tied with {', '.join(ties)}: the data cannot tell them apart."
    return f"By {by}, {leader} ranks first of {len(order)}, with no tie."


def without_distance(cards: list[Scorecard], names: list[str], by: str) -> str:
    """Why the order is not by the distance, where some datasets have one; else nothing."""
    missing = [name for card, name in zip(cards, names, strict=True) if "bwd" not in card]
    if by in ("verdict", "bwd") or not 0 < len(missing) < len(cards):
        return ""
    return f"Not by bwd, which {', '.join(missing)} {'has' if len(missing) == 1 else 'have'} not: see the warnings."


def by_importance(warnings: Iterable[Caution]) -> list[Caution]:
    """The same warnings, the most important first; equals keep their order."""
    return sorted(warnings, key=lambda warning: _PLACES.get(warning.code, _LAST_DOUBT))


def shared_warnings(cards: list[Scorecard], names: list[str]) -> dict[Caution, list[str]]:
    """Each warning once, with the datasets it is about, the most important first."""
    owners: dict[Caution, list[str]] = {}
    for card, name in zip(cards, names, strict=True):
        for warning in dict.fromkeys(card.warnings):
            owners.setdefault(warning, []).append(name)
    return {warning: owners[warning] for warning in by_importance(owners)}
