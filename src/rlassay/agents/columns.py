"""From a dataset to what agents learn from: one packed matrix on the device, in unit coordinates.

All columns of a transition stand in one row, so that a batch is one gather. Observations may be normalised, actions
are mapped from the bounds to [-1, 1] (discrete ones are their number), rewards may be scaled; `Frame` remembers how, for the policy that is saved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rlassay.agents.agent import AgentKind, Shapes, TrainSettings
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.kernel import nets, units
from rlassay.policy import Policy

ACTION_MARGIN = 1e-5  # actions at the bounds have no finite log-density under tanh
DEVIATION_FLOOR = 1e-3
LARGEST_MEAN_REWARD = 1.0  # of |reward| after return-range scaling
MEAN_REWARD = 0.1  # of |reward| after mean scaling


class Batch(NamedTuple):
    """One batch of transitions."""

    observations: jax.Array
    next_observations: jax.Array
    actions: jax.Array
    next_actions: jax.Array
    rewards: jax.Array
    not_terminal: jax.Array
    sarsa_known: jax.Array  # 1 where the next action is known or not needed


class Columns(NamedTuple):
    """The whole dataset as one matrix, laid out as `Batch`."""

    packed: jax.Array

    def batch(self, rows: jax.Array, shapes: Shapes) -> Batch:
        """The named rows, gathered once."""
        observation, action = shapes
        gathered = self.packed[rows]
        ends = np.cumsum([observation, observation, action, action])
        vectors = jnp.split(gathered[:, : ends[-1]], ends[:-1], axis=1)
        return Batch(*vectors, *(gathered[:, ends[-1] + k] for k in range(3)))


@dataclass(frozen=True)
class Frame:
    """How raw observations, actions and rewards relate to an agent's."""

    mean: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    reward_scale: float
    discrete: bool = False

    def policy(self, layers: nets.Params, metadata: dict[str, str]) -> Policy:
        """The agent's network as a policy on raw observations."""
        weights = tuple(np.asarray(layer["w"]) for layer in layers)
        biases = tuple(np.asarray(layer["b"]) for layer in layers)
        bounds = self.low, self.high, self.mean, self.scale
        return Policy(weights, biases, *bounds, metadata=metadata, discrete=self.discrete)


def make_columns(
    data: Dataset,
    kind: AgentKind,
    settings: TrainSettings,
    low: np.ndarray,
    high: np.ndarray,
    *,
    within: np.ndarray | None = None,
) -> tuple[Columns, Frame, np.ndarray]:
    """The packed rows an agent of this kind learns from, their frame, and their row numbers in the dataset.

    Of discrete actions `low` is the first number; `within` names the rows that may be used.
    """
    rows = _usable_rows(data, kind)
    rows = rows if within is None else np.intersect1d(rows, within)
    frame = _frame(data, kind, settings, low, high)
    actions = [_own_actions(a[rows], kind, low, high) for a in (data.actions, data.next_actions)]
    states = [
        (s[rows] - frame.mean) / frame.scale for s in (data.observations, data.next_observations)
    ]
    rewards = (
        np.zeros(len(rows)) if data.rewards is None else data.rewards[rows] * frame.reward_scale
    )
    known = (data.next_action_valid | data.terminals)[rows]
    flat = [rewards, ~data.terminals[rows], known]
    packed = np.concatenate(
        [*states, *actions, *(np.asarray(c, np.float32)[:, None] for c in flat)], axis=1
    )
    return Columns(jnp.asarray(packed, jnp.float32)), frame, rows


def _own_actions(actions: np.ndarray, kind: AgentKind, low: Any, high: Any) -> np.ndarray:
    """Actions as the agent sees them: numbers from 0, or within [-1, 1]."""
    if kind.discrete:
        return actions - low
    return np.clip(units.to_unit(actions, low, high), -1 + ACTION_MARGIN, 1 - ACTION_MARGIN)


def _usable_rows(data: Dataset, kind: AgentKind) -> np.ndarray:
    if kind.needs_rewards and data.rewards is None:
        raise DatasetError(
            f"{data.origin.source} has no rewards", remedy="train `bc`, the agent that needs none"
        )
    if kind.rows == "all":
        return np.arange(len(data))
    rows = data.bootstrap_rows if kind.rows == "bootstrap" else data.sarsa_rows
    if len(rows) == 0:
        raise DatasetError(
            f"no row of {data.origin.source} has a known successor", remedy="train `bc` instead"
        )
    return rows


def _frame(
    data: Dataset, kind: AgentKind, settings: TrainSettings, low: np.ndarray, high: np.ndarray
) -> Frame:
    if not kind.discrete and not (np.asarray(high) > np.asarray(low)).all():
        raise SettingsError(
            "an action dimension has no range", allowed="high above low", got=f"{low} to {high}"
        )
    mean, scale = np.zeros(data.observation_dim), np.ones(data.observation_dim)
    if settings.normalise_observations:
        mean, deviation = data.observation_statistics
        scale = deviation + DEVIATION_FLOOR
    mean, scale, low, high = (np.asarray(value, np.float32) for value in (mean, scale, low, high))
    factor = reward_scale(data, getattr(settings, "reward_scaling", "none"))
    return Frame(mean, scale, low, high, factor, kind.discrete)


def reward_scale(data: Dataset, rule: str) -> float:
    """The factor on rewards: `return_range` is 1000 / (largest - smallest return), guarded; `mean` is 0.1 / mean |r|.

    Where all returns are nearly equal the range says nothing about the size of rewards and the factor would explode;
    the guard keeps the mean |reward| at or below 1.
    """
    if rule == "none" or data.rewards is None:
        return 1.0
    size = float(np.abs(data.rewards).mean(dtype=np.float64))
    if size == 0:
        return 1.0
    if rule == "mean":
        return MEAN_REWARD / size
    spread = float(data.episode_returns.max() - data.episode_returns.min())
    largest = LARGEST_MEAN_REWARD / size
    return min(1000.0 / spread, largest) if spread > 0 else largest
