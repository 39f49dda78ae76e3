"""Do datasets that are compared measure the same thing? Rewards shifted or scaled, actions in other units, the same data twice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.discrete import known_numbers
from rlassay.results.card import Caution, Scorecard

FEWEST_SHARED = (
    10  # transitions that two datasets must share before their rewards are set side by side
)
LINEAR = 1e-3  # of the rewards' deviation: what a shift or a scale may leave unexplained
OTHER_SPAN = (
    20.0  # ratio of the ranges of rewards, or of one action's sizes, that one task does not explain
)
BLOCK = 16_384  # rows hashed at once
ALL_ACTIONS = 3.0  # the same where every dimension of the actions differs by it


def same_data(cards: Sequence[Scorecard], names: Sequence[str]) -> list[Caution]:
    """Cards with one fingerprint are one dataset, whatever their paths."""
    known: dict[str, list[str]] = {}
    for card, name in zip(cards, names, strict=True):
        known.setdefault(str(card.dataset.get("fingerprint")), []).append(name)
    return [
        Caution(
            "same_data",
            f"{', '.join(each)} hold the same data",
            "compare each dataset once; equal data are tied by every score",
        )
        for fingerprint, each in known.items()
        if len(each) > 1 and fingerprint != "None"
    ]


def differences(datasets: Sequence[Dataset]) -> list[Caution]:
    """What makes scores of these datasets incomparable though their dimensions agree."""
    keys = [row_keys(data) for data in datasets]
    found = []
    for i, j in itertools.combinations(range(len(datasets)), 2):
        one, other = datasets[i], datasets[j]
        told = [_rewards(one, other, keys[i], keys[j]), _actions(one, other)]
        found += [caution for caution in told if caution is not None]
    return found


def row_keys(data: Dataset) -> np.ndarray:
    """One word a row, equal for equal observations and actions."""
    width = data.observation_dim + data.action_dim
    multipliers = np.random.default_rng(631).integers(1, 2**63, width, dtype=np.uint64)
    found = np.empty(len(data), np.uint64)
    for first in range(0, len(data), BLOCK):
        rows = slice(first, first + BLOCK)
        parts = [data.observations[rows], data.actions[rows]]
        columns = np.concatenate(parts, axis=1, dtype=np.float32) + np.float32(0)  # no -0.0
        words = columns.view(np.uint32).astype(np.uint64) * (multipliers | np.uint64(1))
        found[rows] = (words ^ (words >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
    return found


# -- rewards -----------------------------------------------------------------------------------------------------------


def _rewards(
    one: Dataset, other: Dataset, one_keys: np.ndarray, other_keys: np.ndarray
) -> Caution | None:
    if one.rewards is None or other.rewards is None:
        return None
    _, first, second = np.intersect1d(one_keys, other_keys, return_indices=True)
    if len(first) >= FEWEST_SHARED:
        how = relation(one.rewards[first], other.rewards[second])
        shared = f"on {len(first):,} transitions that both hold"
    else:
        how = _other_range(one.rewards, other.rewards)
        shared = "by their ranges"
    if how is None:
        return None
    return Caution(
        "rewards_differ",
        f"rewards of {one.origin.source} and {other.origin.source} differ {shared}: {how}",
        "bring the rewards to one scale before comparing; a ranking across them means nothing",
    )


def relation(one: np.ndarray, other: np.ndarray) -> str | None:
    """How the second rewards of the same transitions come from the first; None where they are equal."""
    first, second = one.astype(np.float64), other.astype(np.float64)
    scale = max(float(np.abs(first).max()), float(np.abs(second).max()), 1e-12)
    if np.abs(first - second).max() <= 1e-5 * scale:
        return None
    shift = float((second - first).mean())
    if np.abs(second - first - shift).max() <= LINEAR * scale:
        return f"the second are the first {'+' if shift > 0 else '-'} {abs(shift):.4g}"
    spread = first - first.mean()
    slope = float((spread * second).sum() / max(float((spread**2).sum()), 1e-300))
    left = second - second.mean() - slope * spread
    if np.abs(left).max() <= LINEAR * float(second.std()):
        offset = float(second.mean() - slope * first.mean())
        behind = "" if abs(offset) <= 1e-4 * scale else f" {offset:+.4g}"
        return f"the second are {slope:.4g} times the first{behind}"
    return "neither a shift nor a scale turns the first into the second"


def _other_range(one: np.ndarray, other: np.ndarray) -> str | None:
    """Ranges that do not meet, or of which one is far wider: one task seldom gives such rewards."""
    ranges = [(float(values.min()), float(values.max())) for values in (one, other)]
    (low, high), (other_low, other_high) = ranges
    spans = sorted((high - low, other_high - other_low))
    apart = high < other_low or other_high < low
    if not apart and spans[1] <= OTHER_SPAN * spans[0]:
        return None
    return f"{low:.4g} to {high:.4g}, and {other_low:.4g} to {other_high:.4g}"


# -- actions -----------------------------------------------------------------------------------------------------------


def _actions(one: Dataset, other: Dataset) -> Caution | None:
    if one.discrete_actions and other.discrete_actions:
        return _other_numbers(one, other)
    how = _other_bounds(one, other) or _other_sizes(one, other)
    if how is None:
        return None
    return Caution(
        "actions_in_other_units",
        f"actions of {one.origin.source} and {other.origin.source} are in other units: {how}",
        "bring the actions of one of them to the units of the other before comparing",
    )


def _other_numbers(one: Dataset, other: Dataset) -> Caution | None:
    """Two files of one task that state different actions."""
    numbers = [known_numbers(data)[0] for data in (one, other) if data.action_dim == 1]
    if len(numbers) < 2 or None in numbers or numbers[0] == numbers[1]:
        return None
    shown = " and ".join(f"{each.first} to {each.last}" for each in numbers if each is not None)
    return Caution(
        "actions_in_other_units",
        f"actions of {one.origin.source} and {other.origin.source} are numbered differently: {shown}",
        "number the actions of both alike before comparing",
    )


def _other_bounds(one: Dataset, other: Dataset) -> str | None:
    (low, high, named), (other_low, other_high, other_named) = (
        data.action_bounds() for data in (one, other)
    )
    if not (named and other_named):
        return None
    if np.allclose(low, other_low, rtol=1e-3) and np.allclose(high, other_high, rtol=1e-3):
        return None
    return f"their files state bounds {_span(low, high)} and {_span(other_low, other_high)}"


def _other_sizes(one: Dataset, other: Dataset) -> str | None:
    sizes = [np.max(np.abs(data.action_range), axis=0).astype(float) for data in (one, other)]
    moving = (sizes[0] > 0) & (sizes[1] > 0)
    if not moving.any():
        return None
    ratios = np.exp(np.abs(np.log(sizes[0][moving] / sizes[1][moving])))
    if ratios.max() < OTHER_SPAN and ratios.min() < ALL_ACTIONS:
        return None
    return f"recorded ones lie within {_span(*one.action_range)} and {_span(*other.action_range)}"


def _span(low: np.ndarray, high: np.ndarray) -> str:
    return f"{float(np.min(low)):.4g} to {float(np.max(high)):.4g}"
