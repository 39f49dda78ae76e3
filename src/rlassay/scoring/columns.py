"""The columns that a score's function may ask for: what each is, how it is read, and the episode of every entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.scoring.rows import Rows
from rlassay.scoring.unavailable import Unavailable, no_rewards

FIRST_STEPS = 20  # of an episode, where different policies still see the same states


@dataclass(frozen=True)
class Column:
    """A column, and which of them differ from seed to seed, rest on the critic, or exist for any row."""

    meaning: str
    read: Callable[[Rows], Any]
    seeded: bool = False
    of_critic: bool = False
    of_any_row: bool = False


def _of_data(name: str) -> Callable[[Rows], np.ndarray]:
    return lambda rows: getattr(rows.assessment.whole, name)


def _rewards(rows: Rows) -> np.ndarray:
    if rows.assessment.whole.rewards is None:
        raise no_rewards()
    return rows.assessment.whole.rewards.astype(np.float64)


def _returns(rows: Rows) -> np.ndarray:
    if rows.assessment.whole.rewards is None:
        raise no_rewards()
    return rows.assessment.whole.episode_returns


def _reference(rows: Rows) -> tuple[float, float]:
    reference = rows.assessment.reference
    if reference is None:
        raise Unavailable(
            "no_reference",
            "no reference returns are known; name them with --reference LOW,HIGH",
            "name an environment with known references, or give --reference LOW,HIGH",
        )
    return reference.low, reference.high


def _integrand(estimator: str) -> Callable[[Rows], np.ndarray]:
    return lambda rows: rows.integrand(estimator)[1]


def _tail_lowest(rows: Rows) -> float | None:
    bounded = rows.assessment.settings.transport.potentials == "non_positive"
    return 0.0 if bounded else None


def _cloning_errors(rows: Rows) -> np.ndarray:
    assessment, held = rows.assessment, rows.assessment.policy_split[1]
    states = assessment.shared.scaling.observations(assessment.data.observations[held])
    return assessment.cloned.cloning_errors(rows.member, states, assessment.data.actions[held])


def _conflict(rows: Rows) -> float:
    """How much of the actions the state does not tell, overall or where all behaviour meets: at the start."""
    held, data = rows.assessment.policy_split[1], rows.assessment.data
    errors = _cloning_errors(rows)
    early = held - data.episode_starts[data.episode_index[held]] < FIRST_STEPS
    at_start = errors[early].mean() if early.any() else 0.0
    return float(np.clip(max(errors.mean(), at_start), 0.0, 1.0))


COLUMNS: dict[str, Column] = {
    "observations": Column("observation of every transition", _of_data("observations")),
    "actions": Column("action of every transition", _of_data("actions")),
    "rewards": Column("reward of every transition", _rewards),
    "terminals": Column("flag: the task ended here", _of_data("terminals")),
    "timeouts": Column("flag: the episode was cut here", _of_data("timeouts")),
    "episode_returns": Column("sum of rewards of every episode", _returns),
    "episode_lengths": Column("transitions of every episode", _of_data("episode_lengths")),
    "reference": Column("(low, high) reference returns of the task", _reference),
    "row_observations": Column(
        "observation of every evaluated row", lambda rows: rows.observations, of_any_row=True
    ),
    "row_actions": Column(
        "action of every evaluated row", lambda rows: rows.actions, of_any_row=True
    ),
    "q": Column("Q(s, a) of every evaluated row", lambda rows: rows.q, True, True, True),
    "v": Column("V(s) of every evaluated row", lambda rows: rows.v, True, True, True),
    "q_random": Column(
        "Q(s, a') of every evaluated row with its k random actions; of discrete actions, with all of them",
        lambda rows: rows.q_random,
        seeded=True,
        of_critic=True,
        of_any_row=True,
    ),
    "v_random": Column(
        "mean of Q(s, a') over the random actions of every evaluated row; of discrete actions, over all of them",
        lambda rows: rows.v_random,
        seeded=True,
        of_critic=True,
        of_any_row=True,
    ),
    "exact_integrand": Column(
        "cost of every evaluated row", _integrand("exact"), True, True, of_any_row=True
    ),
    "dual_integrand": Column(
        "dual objective of every evaluated row at the trained potentials",
        _integrand("dual"),
        seeded=True,
        of_critic=True,
    ),
    "sinkhorn_integrand": Column(
        "transport value of every anchor", _integrand("sinkhorn"), seeded=True, of_critic=True
    ),
    "tail_costs": Column(
        "signed costs of every evaluated row with its k random actions, cost of `tail`",
        lambda rows: rows.signed_costs("tail"),
        seeded=True,
        of_critic=True,
    ),
    "tail_epsilon": Column(
        "absolute epsilon of `tail`", lambda rows: rows.transport("tail").epsilon, True, True
    ),
    "tail_lowest": Column("lowest threshold allowed in `tail`, or None", _tail_lowest),
    "cloning_errors": Column(
        "squared error of cloned actions on held-out rows, in units of the actions' variance; of discrete ones log-loss",
        _cloning_errors,
        seeded=True,
    ),
    "conflict": Column(
        "cloning error on held-out episodes or on their first steps, whichever is larger, 0 to 1",
        _conflict,
        seeded=True,
        of_critic=True,  # `extractable` carries the critic's verdict
    ),
    "action_spread": Column(
        "mean standard deviation of a tanh-normal policy at every evaluated row; of discrete actions entropy",
        lambda rows: rows.assessment.stochastic.spread(rows.member, rows.states),
        seeded=True,
    ),
    "neighbour_entropy": Column(
        "entropy contribution of every distinct sampled row",
        lambda rows: rows.assessment.neighbour_entropies[0],
    ),
    "cells": Column(
        "(distinct cells, distinct transitions) of states and actions",
        lambda rows: rows.assessment.cells,
    ),
}


def _episode_of_transitions(data: Dataset) -> np.ndarray:
    """Half the bytes where the data is larger than memory."""
    if not data.streamed:
        return data.episode_index
    return np.repeat(np.arange(data.episode_count, dtype=np.int32), data.episode_lengths)


def episodes_of(rows: Rows, per: str, estimator: str | None) -> np.ndarray:
    """The episode of every entry of a score: of transitions, evaluated rows, an estimator's states and so on."""
    if per == "transition":
        return _episode_of_transitions(rows.assessment.whole)
    if per == "episode":
        return np.arange(rows.assessment.whole.episode_count)
    data = rows.assessment.data
    if per in ("state", "anchor"):
        return data.episode_index[rows.integrand(estimator or "sinkhorn")[0]]
    if per == "held-out row":
        return data.episode_index[rows.assessment.policy_split[1]]
    if per == "distinct row":
        return data.episode_index[rows.assessment.neighbour_entropies[1]]
    return data.episode_index[rows.numbers] if per == "row" else np.zeros(1, np.int64)
