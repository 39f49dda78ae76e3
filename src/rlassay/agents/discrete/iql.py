"""Discrete IQL (Kostrikov et al. 2021): Q of all actions, a value by expectile, advantage-weighted cross-entropy."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import batch_of, log_prob, make_discrete, taken
from rlassay.agents.iql import value_loss
from rlassay.agents.learner import Learner, cosine_adam, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class IQLSettings(ValueSettings):
    """Settings of discrete IQL; defaults of its continuous sibling."""

    reward_scaling: Literal["none", "return_range", "mean"] = "return_range"
    expectile: float = 0.7  # of the value over the data's actions
    inverse_temperature: float = 3.0  # of the advantage weights
    weight_clip: float = 100.0


class IQLState(NamedTuple):
    actor: Learner
    value: Learner
    critic: Learner
    critic_target: nets.Params


def critic_loss(critic: nets.Params, batch: Batch, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of both critics at the taken actions."""
    values = taken(nets.mlp(critic, batch.observations), batch.actions)
    return losses.twin_squared_error(values, target), None


def actor_loss(
    actor: nets.Params, batch: Batch, advantage: jax.Array, settings: IQLSettings
) -> tuple[jax.Array, None]:
    """Advantage-weighted cross-entropy of the data's actions."""
    weights = losses.exponential_weights(
        advantage, settings.inverse_temperature, settings.weight_clip
    )
    logits = nets.mlp(actor, batch.observations)
    return -(weights * log_prob(logits, batch.actions)).mean(), None


def init(settings: IQLSettings, shapes: Shapes, seed: int) -> IQLState:
    """Fresh networks; the critic's target begins as a copy."""
    adam, actor_adam, rng = *optimisers(settings), network_rng(seed)
    sizes = hidden(settings, *shapes)
    actor = nets.init_mlp(rng, sizes, orthogonal=True)
    value = nets.init_mlp(rng, hidden(settings, shapes.observation_dim, 1), orthogonal=True)
    critic = nets.init_mlp(rng, sizes, orthogonal=True, ensemble=2)
    learners = new_learner(actor_adam, actor), new_learner(adam, value), new_learner(adam, critic)
    return IQLState(*learners, jax.tree.map(jnp.array, critic))


def optimisers(settings: IQLSettings):
    """Of value and critic, and of the actor."""
    adam = optax.adam(settings.learning_rate)
    return adam, cosine_adam(settings.learning_rate, settings.updates)


def step(settings: IQLSettings, shapes: Shapes, state: IQLState, columns, inputs):
    """One update: value, actor with the new value, critic with the new value, target."""
    adam, actor_adam = optimisers(settings)
    batch = batch_of(columns, inputs.rows, shapes)
    q = taken(nets.mlp(state.critic_target, batch.observations), batch.actions).min(axis=0)
    value, fitted, _ = descend(adam, state.value, value_loss, batch, q, settings)
    both = jnp.concatenate([batch.observations, batch.next_observations])
    now, following = jnp.split(nets.scalar(value.params, both), 2)
    actor, cloning, _ = descend(actor_adam, state.actor, actor_loss, batch, q - now, settings)
    target = losses.td_target(batch.rewards, batch.not_terminal, settings.discount, following)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    info = {"value_loss": fitted, "actor_loss": cloning, "critic_loss": error, "q": q.mean()}
    return IQLState(actor, value, critic, moved), info


@functools.lru_cache
def make(settings: IQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.actor.params)


KIND = AgentKind(
    make, IQLSettings, revision=1, rows="bootstrap", schedule="the actor's rate", discrete=True
)
