"""Offline DQN (Mnih et al. 2015) with the double target (van Hasselt et al. 2016): no defence against unseen actions."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden
from rlassay.agents.discrete.actions import batch_of, double_target, make_discrete, taken
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class DQNSettings(ValueSettings):
    """Settings of DQN."""

    huber_delta: float = 1.0  # errors beyond count linearly


class DQNState(NamedTuple):
    critic: Learner
    critic_target: nets.Params


def critic_loss(
    critic: nets.Params, batch: Any, target: jax.Array, settings: Any
) -> tuple[jax.Array, jax.Array]:
    """Huber loss of the taken action's Q; aux: its mean. Online DQN has the same."""
    values = taken(nets.mlp(critic, batch.observations), batch.actions)
    return losses.twin_huber(values, target, settings.huber_delta), values.mean()


def init(settings: DQNSettings, shapes: Shapes, seed: int) -> DQNState:
    """A fresh critic; its target begins as a copy."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    critic = nets.init_mlp(rng, hidden(settings, *shapes))
    return DQNState(new_learner(adam, critic), jax.tree.map(jnp.array, critic))


def step(settings: DQNSettings, shapes: Shapes, state: DQNState, columns, inputs):
    """One update: critic, target."""
    adam = optax.adam(settings.learning_rate)
    batch = batch_of(columns, inputs.rows, shapes)
    target = double_target(state.critic.params, state.critic_target, batch, settings.discount)
    critic, error, q = descend(adam, state.critic, critic_loss, batch, target, settings)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    return DQNState(critic, moved), {"critic_loss": error, "q": q}


@functools.lru_cache
def make(settings: DQNSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.critic.params)


KIND = AgentKind(make, DQNSettings, revision=1, rows="bootstrap", schedule=None, discrete=True)
