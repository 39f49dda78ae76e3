"""Discrete CQL (Kumar et al. 2020): double DQN plus the conservative gap over all actions."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import batch_of, double_target, make_discrete, taken
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class CQLSettings(ValueSettings):
    """Settings of discrete CQL."""

    huber_delta: float = 1.0  # errors beyond count linearly
    conservative_weight: float = 1.0
    conservative_temperature: float = 1.0  # of the soft maximum over all actions


class CQLState(NamedTuple):
    critic: Learner
    critic_target: nets.Params


def critic_loss(
    critic: nets.Params, batch: Batch, target: jax.Array, settings: CQLSettings
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Huber loss and conservative gap; aux: both, and the mean Q of the data's actions."""
    every = nets.mlp(critic, batch.observations)
    values = taken(every, batch.actions)
    temperature = settings.conservative_temperature
    gap = losses.conservative_gap(every.T[None], values[None], temperature)
    error = losses.twin_huber(values, target, settings.huber_delta)
    return error + settings.conservative_weight * gap, (error, gap, values.mean())


def init(settings: CQLSettings, shapes: Shapes, seed: int) -> CQLState:
    """A fresh critic; its target begins as a copy."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    critic = nets.init_mlp(rng, hidden(settings, *shapes))
    return CQLState(new_learner(adam, critic), jax.tree.map(jnp.array, critic))


def step(settings: CQLSettings, shapes: Shapes, state: CQLState, columns, inputs):
    """One update: critic, target."""
    adam = optax.adam(settings.learning_rate)
    batch = batch_of(columns, inputs.rows, shapes)
    target = double_target(state.critic.params, state.critic_target, batch, settings.discount)
    critic, _, (error, gap, q) = descend(adam, state.critic, critic_loss, batch, target, settings)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    return CQLState(critic, moved), {"critic_loss": error, "conservative_gap": gap, "q": q}


@functools.lru_cache
def make(settings: CQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.critic.params)


KIND = AgentKind(make, CQLSettings, revision=1, rows="bootstrap", schedule=None, discrete=True)
