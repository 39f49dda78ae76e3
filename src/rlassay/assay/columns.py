"""The columns that scores may need, read from an assessment, and the episode of every entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlassay.assay.assessment import Assessment, Unavailable
from rlassay.transport import resolve_cost

FIRST_STEPS = 20  # of an episode, where different policies still see the same states


def column(assessment: Assessment, name: str, member: int) -> Any:
    """A column of `rlassay.scores.COLUMNS` for the seed at position `member`."""
    return _COLUMNS[name](assessment, member)


def entries(assessment: Assessment, per: str, member: int) -> np.ndarray:
    """The episode of every entry of a score: of transitions, rows, anchors and so on."""
    data = assessment.data
    if per == "transition":
        return data.episode_index
    if per == "episode":
        return np.arange(data.episode_count)
    if per == "anchor":
        rows = assessment.transport("sinkhorn")[member].rows
        return data.episode_index[assessment.problem_rows[rows]]
    if per == "held-out row":
        return data.episode_index[assessment.policy_split[1]]
    if per == "distinct row":
        return data.episode_index[assessment.neighbour_entropies[1]]
    return assessment.row_episodes if per == "row" else np.zeros(1, np.int64)


def _data(name: str):
    def read(assessment: Assessment, member: int) -> np.ndarray:
        values = getattr(assessment.data, name)
        if values is None:
            raise Unavailable(f"the data has no {name}")
        return values.astype(np.float64) if name == "rewards" else values

    return read


def _returns(assessment: Assessment, member: int) -> np.ndarray:
    if assessment.data.rewards is None:
        raise Unavailable("the data has no rewards")
    return assessment.data.episode_returns


def _reference(assessment: Assessment, member: int) -> tuple[float, float]:
    if assessment.reference is None:
        raise Unavailable("no reference returns are known; name them with --reference LOW,HIGH")
    return assessment.reference.low, assessment.reference.high


def _q(assessment: Assessment, member: int) -> np.ndarray:
    inputs = assessment.shared.scaling.actions(assessment.data.actions[assessment.rows])
    states = assessment.row_states
    return assessment.fitted.critic.q_at(member, np.concatenate([states, inputs], axis=1))


def _v(assessment: Assessment, member: int) -> np.ndarray:
    return assessment.fitted.critic.v_at(member, assessment.row_states)


def _integrand(estimator: str):
    return lambda assessment, member: assessment.transport(estimator)[member].integrand


def _tail_costs(assessment: Assessment, member: int) -> np.ndarray:
    sign = resolve_cost(assessment.transport_settings("tail")).sign
    return sign * assessment.pairs_for("tail")[member].costs


def _tail_epsilon(assessment: Assessment, member: int) -> float:
    return assessment.transport("tail")[member].epsilon


def _tail_lowest(assessment: Assessment, member: int) -> float | None:
    bounded = assessment.settings.transport.potentials == "non_positive"
    return 0.0 if bounded else None


def _cloning_errors(assessment: Assessment, member: int) -> np.ndarray:
    rows, scaling = assessment.policy_split[1], assessment.shared.scaling
    states = scaling.observations(assessment.data.observations[rows])
    return assessment.policies.cloning_errors(member, states, assessment.data.actions[rows])


def _conflict(assessment: Assessment, member: int) -> float:
    """How much of the actions the state does not tell, overall or where all behaviour meets: at the start."""
    rows, data = assessment.policy_split[1], assessment.data
    errors = _cloning_errors(assessment, member)
    early = rows - data.episode_starts[data.episode_index[rows]] < FIRST_STEPS
    at_start = errors[early].mean() if early.any() else 0.0
    return float(np.clip(max(errors.mean(), at_start), 0.0, 1.0))


_COLUMNS = {
    **{
        name: _data(name)
        for name in ("observations", "actions", "rewards", "terminals", "timeouts")
    },
    "episode_returns": _returns,
    "episode_lengths": lambda assessment, member: assessment.data.episode_lengths,
    "reference": _reference,
    "row_observations": lambda assessment, member: assessment.data.observations[assessment.rows],
    "row_actions": lambda assessment, member: assessment.data.actions[assessment.rows],
    "q": _q,
    "v": _v,
    "q_random": lambda assessment, member: assessment.pairs[member].q_random,
    "exact_integrand": _integrand("exact"),
    "dual_integrand": _integrand("dual"),
    "sinkhorn_integrand": _integrand("sinkhorn"),
    "tail_costs": _tail_costs,
    "tail_epsilon": _tail_epsilon,
    "tail_lowest": _tail_lowest,
    "cloning_errors": _cloning_errors,
    "conflict": _conflict,
    "action_spread": lambda assessment, member: assessment.policies.spread(
        member, assessment.row_states
    ),
    "neighbour_entropy": lambda assessment, member: assessment.neighbour_entropies[0],
    "cells": lambda assessment, member: assessment.cells,
}
