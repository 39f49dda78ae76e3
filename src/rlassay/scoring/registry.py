"""The registry of scores: a dict of pure functions of arrays, each with its meaning.

A score's function takes the columns it needs by name and returns one value per entry: per transition, episode,
evaluated row, state of an estimator, or one number for the dataset. The score is the `statistic` of these values, a
weighted mean unless said otherwise; the same statistic under resampled episode weights gives the interval.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rlassay.errors import SettingsError
from rlassay.results.card import Direction
from rlassay.scoring.columns import COLUMNS
from rlassay.scoring.rows import Rows
from rlassay.stats import Statistic, one_at_a_time, weighted_mean
from rlassay.words import suggest

Entries = Literal[
    "transition",
    "episode",
    "row",
    "state",
    "anchor",
    "held-out row",
    "distinct row",
    "dataset",
]
BY_SETTING = "transport.estimator"  # the estimator that the settings name
TRANSPORT = "transport"  # what a member of the `bwd` family needs: its estimator's result


class Words(NamedTuple):
    """What a score says where it is made of another thing."""

    meaning: str  # one plain sentence
    unit: str


@dataclass(frozen=True)
class ScoreSpec:
    """One score: what it computes, what that means, which way is better, and from what."""

    function: Callable[..., Any]
    title: str  # the name a person would use
    meaning: str  # one plain sentence
    direction: Direction
    unit: str
    needs: tuple[str, ...]
    per: Entries = "row"
    statistic: Statistic = weighted_mean
    relative: Literal["return", "value"] | None = None  # the scale of references it compares with
    estimator: str | None = None  # of `rlassay.transport.ESTIMATORS`, or the one by setting
    revision: int = 1  # raised whenever its numbers change
    least: float = -np.inf  # what is possible: an interval never leaves it
    most: float = np.inf
    retired: bool = (
        False  # computed where it is named, for results that hold it; no longer shown by itself
    )
    discrete: Words | None = None  # of discrete actions, where that is something else

    def words(self, discrete: bool) -> Words:
        """Meaning and unit for data of one kind."""
        return self.discrete if discrete and self.discrete else Words(self.meaning, self.unit)

    @property
    def seeded(self) -> bool:
        """Whether its numbers differ from seed to seed."""
        return self.estimator is not None or any(COLUMNS[need].seeded for need in self.needs)

    @property
    def of_critic(self) -> bool:
        """Whether it rests on the critic."""
        return self.estimator is not None or any(COLUMNS[need].of_critic for need in self.needs)


@dataclass(frozen=True)
class Measured:
    """Values with their own statistic, for a function whose statistic depends on its inputs."""

    values: np.ndarray
    statistic: Statistic


# What `score` computes unless asked: the answer in seconds.
FIRST_ASKED = ("reward", "return", "return_by_step", "return_top10", "q", "bwd", "bc_error")
ALL = "all"  # the name of all of them
SCORES: dict[str, ScoreSpec] = {}  # filled by `rlassay.scoring.scores`, in the order of reading


def register_score(
    name: str,
    function: Callable[..., Any],
    *,
    direction: Direction,
    unit: str,
    needs: Sequence[str],
    description: str,
    title: str | None = None,
    per: Entries = "row",
    statistic: Callable[[np.ndarray, np.ndarray], float] | None = None,
    revision: int = 1,
) -> None:
    """Make a score known by `name` to Python, command line, report and study.

    `needs` names columns of `rlassay.scoring.COLUMNS`, passed to `function` as keywords. The score is the mean of what
    the function returns, or `statistic(values, weights)` with one weight an entry. `description` is the sentence that
    card, terminal and page show; `title`, the name without it, a few words for people.
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
    SCORES[name] = ScoreSpec(
        function,
        title=title or name,
        meaning=description,
        direction=direction,
        unit=unit,
        needs=tuple(needs),
        per=per,
        statistic=functools.partial(one_at_a_time, statistic) if statistic else weighted_mean,
        revision=revision,
    )


def resolve(names: Sequence[str] | None, unasked: Sequence[str] | None = None) -> list[str]:
    """The scores that are asked for: the named ones; without names `unasked`, or all that are not retired."""
    if names is None and unasked is not None:
        return list(unasked)
    if names is None or names == ALL or list(names) == [ALL]:
        return [name for name, spec in SCORES.items() if not spec.retired]
    unknown = [name for name in names if name not in SCORES]
    if unknown or not names:
        meant = suggest(unknown[0], SCORES) if unknown else ""
        raise SettingsError(f"unknown score{meant}", allowed=list(SCORES), got=unknown or "none")
    return list(dict.fromkeys(names))


def signs() -> dict[str, int]:
    """Which way is better, as a factor: 1 when higher is, -1 when lower is."""
    return {name: 1 if spec.direction == "higher" else -1 for name, spec in SCORES.items()}


def spec_of(name: str, estimator: str) -> ScoreSpec:
    """The score of that name; where it goes by setting, `estimator` is the one that was set."""
    spec = SCORES[name]
    return replace(spec, estimator=estimator) if spec.estimator == BY_SETTING else spec


def columns_of(spec: ScoreSpec, rows: Rows) -> dict[str, Any]:
    """Everything that the score's function reads."""
    found: dict[str, Any] = {}
    for need in spec.needs:
        if spec.estimator is not None and need == TRANSPORT:
            found[need] = rows.transport(spec.estimator)
        else:
            found[need] = COLUMNS[need].read(rows)
    return found


def evaluate(spec: ScoreSpec, columns: Mapping[str, Any]) -> Measured:
    """Apply the score's function to its columns; checks the shape of what comes back."""
    result = spec.function(**{name: columns[name] for name in spec.needs})
    if isinstance(result, Measured):
        return result
    values = np.asarray(result, np.float64)
    if spec.per == "dataset":
        values = values.reshape(1)
    return Measured(values, spec.statistic)


def row_values(spec: ScoreSpec, rows: Rows) -> tuple[np.ndarray | slice, np.ndarray]:
    """The rows of the dataset that have a value of a score that is a mean over rows, and the values there."""
    if spec.estimator is not None:
        return rows.integrand(spec.estimator)
    values = evaluate(spec, columns_of(spec, rows)).values
    if spec.per == "anchor":
        return rows.integrand("sinkhorn")[0], values
    return rows.numbers, values
