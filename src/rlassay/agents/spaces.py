"""What an agent may do: the bounds of continuous actions, or the numbers of discrete ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.discrete import ActionNumbers, action_numbers, numbers_of, whole_numbers
from rlassay.errors import DatasetError

ROOM = 0.05  # of the range beyond actions whose bounds nobody states: tanh does not reach its own


class ActionSpace(NamedTuple):
    """Bounds, and the size of a policy's output: dimensions, or the count of discrete actions."""

    low: np.ndarray
    high: np.ndarray
    size: int

    @classmethod
    def discrete(cls, numbers: ActionNumbers) -> ActionSpace:
        """One number between the first action and the last."""
        return cls(np.array([numbers.first]), np.array([numbers.last]), numbers.count)


def space_of_environment(env: Any, data: Dataset, env_id: str) -> ActionSpace:
    """The environment's actions, once its spaces are those of the data."""
    from rlassay.rollout import is_discrete

    discrete, actions = is_discrete(env), env.action_space
    size = int(actions.n) if discrete else actions.shape[0]
    found = env.observation_space.shape[0], discrete, None if discrete else size
    wanted_size = None if data.discrete_actions else data.action_dim
    if found != (data.observation_dim, data.discrete_actions, wanted_size):
        raise _not_from(env_id, data, found[0], size, discrete)
    if discrete:
        known = ActionNumbers(int(actions.start), size)
        return ActionSpace.discrete(action_numbers(data, known, env_id))
    return ActionSpace(actions.low, actions.high, size)


def space_of_data(data: Dataset) -> ActionSpace:
    """Without an environment: what the file states, else the data's range with some room, or numbers from 0."""
    if data.discrete_actions:
        return ActionSpace.discrete(numbers_of(data)[0])
    low, high, stated = data.action_bounds()
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    seen_low, seen_high = data.action_range
    if not stated or (seen_low < low).any() or (seen_high > high).any():
        room = ROOM * (seen_high - seen_low)
        low, high = np.minimum(low, seen_low - room), np.maximum(high, seen_high + room)
    still = high <= low  # a joint that never moves
    return ActionSpace(np.where(still, low - 1, low), np.where(still, high + 1, high), len(low))


def _not_from(
    env_id: str, data: Dataset, observations: int, size: int, discrete: bool
) -> DatasetError:
    own = "discrete actions" if data.discrete_actions else f"actions of {data.action_dim}"
    remedy = "name the environment the data was recorded in with --env"
    if discrete and not data.discrete_actions:
        own += f" of the type {data.actions.dtype}"
        if whole_numbers(data) and data.observation_dim == observations:
            remedy = f"store the actions as integers, or {remedy}"
    actions = f"{size} discrete actions" if discrete else f"actions of {size}"
    return DatasetError(
        f"{data.origin.source} is not from {env_id}",
        allowed=f"observations of {observations} and {actions}",
        got=f"observations of {data.observation_dim} and {own}",
        remedy=remedy,
    )
