"""The clone in a learned world: what cloning would earn in an ensemble of small models of the dynamics.

Next state, reward and termination are learnt from the data; the clone starts where episodes start and never leaves the
range of the data. It sees policies that conflict, and dreams where data is thin: a discount, not a level.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.data.dataset import Dataset
from rlassay.kernel import fitting, nets

STREAM = 611
SMALLEST = 1e-3  # deviation below which a dimension counts as constant


@dataclass(frozen=True)
class WorldSettings:
    """Sizes of the models and of the rollouts."""

    members: int = 3  # models of the ensemble, each with a clone of its own
    width: int = 200  # units of a hidden layer, of two
    steps: int = 5_000  # gradient steps
    batch_size: int = 256
    learning_rate: float = 1e-3  # of Adam, falling to zero along a cosine
    rows: int = 100_000  # most transitions to learn from
    rollouts: int = 128  # clones rolled out in each model
    longest: int = 1_000  # steps of a rollout


@dataclass(frozen=True)
class World:
    """What a clone earns in the learned world, beside what the data earned."""

    returns: np.ndarray  # of every rollout
    data_return: float
    lowest: float  # the lowest return observed

    @property
    def share(self) -> float:
        """How much of the data's mean return above the lowest the clone keeps, within 0 and 1."""
        above = self.data_return - self.lowest
        if above <= 0:
            return 1.0
        return float(np.clip((self.returns.mean() - self.lowest) / above, 0.0, 1.0))


@dataclass(frozen=True)
class _Scales:
    """Units of the networks: states and changes of state, rewards, actions."""

    mean: np.ndarray
    deviation: np.ndarray
    change: np.ndarray
    reward_mean: float
    reward_deviation: float
    low: np.ndarray
    high: np.ndarray
    action_mean: np.ndarray
    action_deviation: np.ndarray

    @classmethod
    def of(cls, data: Dataset, rows: np.ndarray) -> _Scales:
        states, actions, rewards = data.observations[rows], data.actions[rows], _rewards(data)[rows]
        change = (data.next_observations[rows] - states).std(axis=0)
        return cls(
            states.mean(axis=0),
            np.maximum(states.std(axis=0), SMALLEST),
            np.maximum(change, SMALLEST),
            float(rewards.mean()),
            max(float(rewards.std()), SMALLEST),
            data.observations.min(axis=0),
            data.observations.max(axis=0),
            actions.mean(axis=0),
            np.maximum(actions.std(axis=0), SMALLEST),
        )


def clone_in_world(data: Dataset, settings: WorldSettings | None = None, seed: int = 0) -> World:
    """Fit the models and the clones, and roll the clones out; needs rewards and continuous actions."""
    settings = settings or WorldSettings()
    rng = np.random.default_rng([seed, STREAM])
    usable = data.bootstrap_rows
    rows = np.sort(rng.permutation(usable)[: settings.rows])
    scales = _Scales.of(data, rows)
    models = _fit(data, rows, scales, settings, seed)
    returns = [
        _roll_out(member, data, scales, settings, np.random.default_rng([seed, STREAM, k]))
        for k, member in enumerate(models)
    ]
    own = data.episode_returns
    return World(np.concatenate(returns), float(own.mean()), float(own.min()))


def _rewards(data: Dataset) -> np.ndarray:
    assert data.rewards is not None
    return data.rewards


# -- fitting -----------------------------------------------------------------------------------------------------------


def _fit(
    data: Dataset, rows: np.ndarray, scales: _Scales, settings: WorldSettings, seed: int
) -> list[Any]:
    """One model and one clone a member, each from its own batches."""
    states = ((data.observations[rows] - scales.mean) / scales.deviation).astype(np.float32)
    actions = ((data.actions[rows] - scales.action_mean) / scales.action_deviation).astype(
        np.float32
    )
    change = (data.next_observations[rows] - data.observations[rows]) / scales.change
    reward = (_rewards(data)[rows] - scales.reward_mean) / scales.reward_deviation
    columns = {
        "states": states,
        "actions": actions,
        "targets": np.column_stack([change, reward]).astype(np.float32),
        "ends": data.terminals[rows].astype(np.float32),
    }
    seeds = [seed + 1_000 * k for k in range(settings.members)]
    dims = states.shape[1], actions.shape[1]
    state = fitting.stack([_initial(settings, dims, each) for each in seeds])
    state = fitting.fit(
        _make_step(settings),
        state,
        jax.tree.map(jnp.asarray, columns),
        rows=len(rows),
        steps=settings.steps,
        batch_size=settings.batch_size,
        seeds=seeds,
    )
    networks = jax.tree.map(np.asarray, state["networks"])
    return [fitting.unstack(networks, k) for k in range(settings.members)]


def _initial(settings: WorldSettings, dims: tuple[int, int], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, STREAM])
    hidden = (settings.width, settings.width)
    networks = {
        "model": nets.init_mlp(rng, (sum(dims), *hidden, dims[0] + 2)),
        "clone": nets.init_mlp(rng, (dims[0], *hidden, dims[1])),
    }
    return {"networks": networks, "moments": _optimiser(settings).init(networks)}


@functools.lru_cache(maxsize=4)
def _optimiser(settings: WorldSettings) -> optax.GradientTransformation:
    return optax.flatten(
        optax.adam(optax.cosine_decay_schedule(settings.learning_rate, settings.steps))
    )


def world_loss(networks: Any, states, actions, targets, ends) -> jax.Array:
    """Squared error of change and reward, cross entropy of the end, squared error of the cloned action."""
    predicted = nets.mlp(networks["model"], jnp.concatenate([states, actions], axis=1))
    errors = jnp.mean((predicted[:, :-1] - targets) ** 2)
    ending = jnp.mean(optax.sigmoid_binary_cross_entropy(predicted[:, -1], ends))
    cloned = jnp.mean((nets.mlp(networks["clone"], states) - actions) ** 2)
    return errors + ending + cloned


@functools.lru_cache(maxsize=4)
def _make_step(settings: WorldSettings) -> fitting.Step:
    optimiser = _optimiser(settings)

    def step(state: Any, data: Any, drawn: fitting.Inputs):
        batch = [data[name][drawn.rows] for name in ("states", "actions", "targets", "ends")]
        value, gradient = jax.value_and_grad(world_loss)(state["networks"], *batch)
        change, moments = optimiser.update(gradient, state["moments"])
        networks: Any = optax.apply_updates(state["networks"], change)
        return {"networks": networks, "moments": moments}, {"loss": value}

    return step


# -- rolling out -------------------------------------------------------------------------------------------------------


def _roll_out(
    member: Any, data: Dataset, scales: _Scales, settings: WorldSettings, rng: np.random.Generator
) -> np.ndarray:
    """Undiscounted returns of the member's clone in the member's world."""
    starts = rng.choice(data.episode_starts, settings.rollouts)
    states = data.observations[starts].astype(np.float32)
    horizon = min(int(data.episode_lengths.max()), settings.longest)
    totals, alive = np.zeros(len(states)), np.ones(len(states), bool)
    constants = tuple(
        np.asarray(value, np.float32)
        for value in (scales.mean, scales.deviation, scales.change, scales.low, scales.high)
    )
    for _ in range(horizon):
        states, rewards, going_on = (
            np.asarray(part) for part in _world_step()(member, states, constants)
        )
        totals += alive * (scales.reward_mean + scales.reward_deviation * rewards)
        alive &= going_on
        if not alive.any():
            break
    return totals


@functools.cache
def _world_step():
    def step(member, states, constants):
        mean, deviation, change, low, high = constants
        scaled = (states - mean) / deviation
        actions = nets.mlp(member["clone"], scaled)
        predicted = nets.mlp(member["model"], jnp.concatenate([scaled, actions], axis=1))
        moved = jnp.clip(states + change * predicted[:, :-2], low, high)
        return moved, predicted[:, -2], predicted[:, -1] <= 0

    return jax.jit(step)
