"""Ranking cards of one task: what must agree, who leads, and who cannot be told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.results.card import Caution, Comparison, Rank, Score, Scorecard
from rlassay.scoring.alike import same_data
from rlassay.words import numbered

VERDICT = "verdict"  # the first ranking: by the score to expect


def require_same_task(datasets: Sequence[Dataset], force: bool) -> None:
    """Equal dimensions always; equal environment and version unless forced."""
    _require_equal("observations", [data.observation_dim for data in datasets], datasets)
    _require_equal("actions", [data.action_dim for data in datasets], datasets)
    if len({data.discrete_actions for data in datasets}) > 1:
        kinds = ["discrete" if data.discrete_actions else "continuous" for data in datasets]
        listing = [f"{d.origin.source}: {kind}" for d, kind in zip(datasets, kinds, strict=True)]
        raise DatasetError(
            "some of the datasets have discrete actions, and some continuous ones",
            got=listing,
            remedy="store numbers of choices as integers, and compare datasets of one task",
        )
    if not force:
        _require_equal_environments([data.env_id for data in datasets])


def _require_equal(name: str, dims: Sequence[Any], datasets: Sequence[Dataset]) -> None:
    if len(set(dims)) > 1:
        listing = [f"{d.origin.source}: {dim}" for d, dim in zip(datasets, dims, strict=True)]
        raise DatasetError(
            f"the datasets differ in the dimension of their {name}",
            got=listing,
            remedy="compare datasets of one task",
        )


def _require_equal_environments(ids: Sequence[str | None]) -> None:
    known = sorted({task_of(env_id) for env_id in ids if env_id})
    if len(known) > 1:
        raise DatasetError(
            "the datasets come from different environments or versions",
            got=known,
            remedy="compare datasets of one task, or insist with --force",
        )


def task_of(env_id: str) -> str:
    """The environment behind an id: quality words of D4RL and Minari names are no part of the task."""
    words = r"-(random|simple|medium|expert|replay|full|human|cloned)(?=-|$)"
    return re.sub(words, "", env_id.lower().replace("/", "-"))


def rank_cards(
    cards: Sequence[Scorecard], *, force: bool, cautions: Sequence[Caution] = ()
) -> Comparison:
    """Rank the cards by the score to expect, then by every score that all of them have; `cautions` go to every card."""
    if not force:
        _require_equal_environments([card.dataset.get("env_id") for card in cards])
        _require_same_rules(cards)
    names = [name for name in cards[0].scores if all(name in card.scores for card in cards)]
    sources = _sources(cards)
    expected = [card.expected for card in cards]
    known = [score for score in expected if score is not None]
    ranking: dict[str, list[Rank]] = {}
    if len(known) == len(cards) and len({score.unit for score in known}) == 1:
        ranking[VERDICT] = rank(known, sources)
    ranking |= {name: rank([card[name] for card in cards], sources) for name in names}
    warned = [*same_data(cards, sources), *_unforecast(sources, expected), *cautions]
    return Comparison(tuple(_with_warnings(card, warned) for card in cards), ranking)


def _unforecast(sources: Sequence[str], expected: Sequence[Score | None]) -> list[Caution]:
    """Why there is no ranking by the verdict though some of the files have a forecast."""
    units = {score.unit for score in expected if score is not None}
    without = [name for name, score in zip(sources, expected, strict=True) if score is None]
    if not units or (not without and len(units) == 1):
        return []
    why = f"{', '.join(without)} has no forecast" if without else "the forecasts differ in unit"
    return [
        Caution(
            "not_ranked_by_verdict",
            f"there is no ranking by the score to expect: {why}",
            "read the verdict of each card, or compare the others without it",
        )
    ]


def _with_warnings(card: Scorecard, cautions: Sequence[Caution]) -> Scorecard:
    new = [caution for caution in cautions if caution not in card.warnings]
    return replace(card, warnings=(*card.warnings, *new)) if new else card


def _require_same_rules(cards: Sequence[Scorecard]) -> None:
    """Values of `bwd` compare only under one estimator, cost and rule for epsilon; values only under one discount."""
    for key in ("estimator", "cost", "epsilon_rule", "random_policy"):
        _refuse_different(key, [card.diagnosis.get("transport", {}).get(key) for card in cards])
    _refuse_different("discount", [card.settings.get("critic.discount") for card in cards])


def _refuse_different(key: str, values: list[Any]) -> None:
    known = {str(value) for value in values if value is not None}
    if len(known) > 1:
        raise DatasetError(
            f"the cards differ in their {key}",
            got=sorted(known),
            remedy="score the datasets again with equal settings, or compare the data themselves",
        )


def _sources(cards: Sequence[Scorecard]) -> list[str]:
    """One name a card; equal sources are numbered."""
    return numbered([str(card.dataset["source"]) for card in cards])


def rank(scores: Sequence[Score], sources: Sequence[str]) -> list[Rank]:
    """Best first. Two are tied when their difference is within its own interval, or their values are equal."""
    sign = -1 if scores[0].direction == "higher" else 1
    values = np.array([score.value for score in scores], np.float64)
    halves = np.array([_half_width(score) for score in scores])
    order = np.argsort(sign * values, kind="stable")
    better = np.searchsorted(np.sort(sign * values), sign * values)
    return [
        Rank(
            source=sources[k],
            rank=1 + int(better[k]),
            value=scores[k].value,
            interval=scores[k].interval,
            tied_with=[str(sources[j]) for j in order[tied(values, halves, k)[order]] if j != k],
        )
        for k in map(int, order)
    ]


def _half_width(score: Score) -> float:
    return np.nan if score.interval is None else (score.interval[1] - score.interval[0]) / 2


def tied(values: np.ndarray, halves: np.ndarray, k: int) -> np.ndarray:
    """Who cannot be told apart from k. The datasets are independent, so half-widths add in squares; NaN: no interval."""
    apart, reach = np.abs(values[k] - values), np.hypot(halves[k], halves)
    return np.where(np.isnan(reach), apart == 0, apart <= reach)
