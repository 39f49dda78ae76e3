"""The registry of scores: a dict of pure functions of arrays, each with its meaning.

A score's function takes the columns it needs by name and returns one value per entry: per transition, episode,
evaluated row, anchor, or one number for the dataset. The score is the `statistic` of these values, a weighted mean
unless said otherwise; the same statistic under resampled episode weights gives the interval.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rlassay.errors import SettingsError
from rlassay.stats import Statistic, one_at_a_time, weighted_mean
from rlassay.words import suggest

Direction = Literal["higher", "lower"]
Entries = Literal[
    "transition", "episode", "row", "anchor", "held-out row", "distinct row", "dataset"
]

# What a score's function may ask for. Columns marked with a star differ from seed to seed.
COLUMNS: dict[str, str] = {
    "observations": "observation of every transition",
    "actions": "action of every transition",
    "rewards": "reward of every transition",
    "terminals": "flag: the task ended here",
    "timeouts": "flag: the episode was cut here",
    "episode_returns": "sum of rewards of every episode",
    "episode_lengths": "transitions of every episode",
    "reference": "(low, high) reference returns of the task",
    "row_observations": "observation of every evaluated row",
    "row_actions": "action of every evaluated row",
    "q": "Q(s, a) of every evaluated row *",
    "v": "V(s) of every evaluated row *",
    "q_random": "Q(s, a') of every evaluated row with its k random actions *",
    "exact_integrand": "cost of every evaluated row *",
    "dual_integrand": "dual objective of every evaluated row at the trained potentials *",
    "sinkhorn_integrand": "transport value of every anchor *",
    "tail_costs": "signed costs of every evaluated row with its k random actions, cost of `tail` *",
    "tail_epsilon": "absolute epsilon of `tail` *",
    "tail_lowest": "lowest threshold allowed in `tail`, or None",
    "cloning_errors": "squared error of cloned actions on held-out rows, in units of the actions' variance *",
    "conflict": "cloning error on held-out episodes or on their first steps, whichever is larger, 0 to 1 *",
    "action_spread": "mean standard deviation of a tanh-normal policy at every evaluated row *",
    "neighbour_entropy": "entropy contribution of every distinct sampled row",
    "cells": "(distinct cells, distinct transitions) of states and actions",
}  # fmt: skip


SEEDED = frozenset(name for name, meaning in COLUMNS.items() if meaning.endswith("*"))


@dataclass(frozen=True)
class ScoreSpec:
    """One score: what it computes, which way is better, and from what."""

    function: Callable[..., Any]
    direction: Direction
    unit: str
    needs: tuple[str, ...]
    description: str
    per: Entries = "row"
    statistic: Statistic = weighted_mean
    relative: Literal["return", "value"] | None = None  # the scale of references it compares with
    revision: int = 1  # raised whenever its numbers change


@dataclass(frozen=True)
class Measured:
    """Values with their own statistic, for a function whose statistic depends on its inputs."""

    values: np.ndarray
    statistic: Statistic


SCORES: dict[str, ScoreSpec] = {}


def register_score(
    name: str,
    function: Callable[..., Any],
    *,
    direction: Direction,
    unit: str,
    needs: Sequence[str],
    description: str,
    per: Entries = "row",
    statistic: Callable[[np.ndarray, np.ndarray], float] | None = None,
    revision: int = 1,
) -> None:
    """Make a score known by `name` to Python, command line, report and study.

    `needs` names columns of `rlassay.scores.COLUMNS`, passed to `function` as keywords. The score is the mean of what
    the function returns, or `statistic(values, weights)` with one weight an entry.
    """
    if name in SCORES:
        raise SettingsError(f"a score named {name} exists already", remedy="choose another name")
    if not name or not name.replace("_", "").replace(".", "").isalnum():
        raise SettingsError(
            "a score's name is not a word", allowed="letters, digits, _ and .", got=name
        )
    if direction not in ("higher", "lower"):
        raise SettingsError(
            f"the direction of {name} is unknown", allowed="higher, lower", got=direction
        )
    unknown = [column for column in needs if column not in COLUMNS]
    if unknown:
        raise SettingsError(f"{name} needs unknown columns", allowed=list(COLUMNS), got=unknown)
    reduced = weighted_mean if statistic is None else functools.partial(one_at_a_time, statistic)
    SCORES[name] = ScoreSpec(
        function, direction, unit, tuple(needs), description, per, reduced, None, revision
    )


def resolve(names: Sequence[str] | None) -> list[str]:
    """The named scores, all of them without names; a family name such as `bwd.*` is not expanded."""
    if names is None:
        return list(SCORES)
    unknown = [name for name in names if name not in SCORES]
    if unknown or not names:
        meant = suggest(unknown[0], SCORES) if unknown else ""
        raise SettingsError(f"unknown score{meant}", allowed=list(SCORES), got=unknown or "none")
    return list(dict.fromkeys(names))


def spec_of(name: str, estimator: str) -> ScoreSpec:
    """The score of that name; `bwd` is the family's member that `estimator` names."""
    return SCORES[f"bwd.{estimator}"] if name == "bwd" else SCORES[name]


def evaluate(spec: ScoreSpec, columns: Mapping[str, Any]) -> Measured:
    """Apply the score's function to its columns; checks the shape of what comes back."""
    result = spec.function(**{name: columns[name] for name in spec.needs})
    if isinstance(result, Measured):
        return result
    values = np.asarray(result, np.float64)
    if spec.per == "dataset":
        values = values.reshape(1)
    return Measured(values, spec.statistic)
