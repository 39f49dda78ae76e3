"""How scores are called and explained, as the card carries it, and in which order and groups they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rlassay.results.card import Score, Scorecard, in_reading_order

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
