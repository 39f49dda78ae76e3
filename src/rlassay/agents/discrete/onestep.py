"""Discrete OnestepRL (Brandfonbrener et al. 2021): one improvement of the behaviour, its value an exact sum over actions.

First part of the updates: the behaviour by cloning and its Q by SARSA, side by side. Second part: both frozen, the
policy starts as the clone and is improved by advantage-weighted cloning.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import batch_of, expected, log_prob, make_discrete, taken
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class OnestepSettings(ValueSettings):
    """Settings of discrete OnestepRL."""

    critic_share: float = 0.8  # of the updates, for the behaviour and its Q
    inverse_temperature: float = 1.0  # of the advantage weights
    weight_clip: float = 100.0


class OnestepState(NamedTuple):
    updates: jax.Array
    actor: Learner  # first the clone, then the policy
    behaviour: nets.Params  # the clone, frozen in the second part
    critic: Learner
    critic_target: nets.Params


def target_value(critic_target: nets.Params, batch: Batch, discount: float) -> jax.Array:
    """SARSA's target: the data's own next action."""
    following = taken(nets.mlp(critic_target, batch.next_observations), batch.next_actions)
    return losses.td_target(batch.rewards, batch.not_terminal, discount, following)


def critic_loss(critic: nets.Params, batch: Batch, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of the one critic at the taken actions."""
    values = taken(nets.mlp(critic, batch.observations), batch.actions)
    return losses.twin_squared_error(values, target), None


def actor_loss(
    actor: nets.Params, batch: Batch, weights: jax.Array | float
) -> tuple[jax.Array, None]:
    """Weighted cross-entropy of the data's actions."""
    logits = nets.mlp(actor, batch.observations)
    return -(weights * log_prob(logits, batch.actions)).mean(), None


def advantage(behaviour: nets.Params, critic: nets.Params, batch: Batch) -> jax.Array:
    """Q of the data's action minus its mean over the behaviour."""
    values = nets.mlp(critic, batch.observations)
    return taken(values, batch.actions) - expected(values, nets.mlp(behaviour, batch.observations))


def init(settings: OnestepSettings, shapes: Shapes, seed: int) -> OnestepState:
    """Fresh networks; behaviour and the critic's target begin as copies."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    actor = nets.init_mlp(rng, hidden(settings, *shapes))
    critic = nets.init_mlp(rng, hidden(settings, *shapes))
    behaviour, target = jax.tree.map(jnp.array, (actor, critic))
    learners = new_learner(adam, actor), new_learner(adam, critic)
    return OnestepState(jnp.zeros((), jnp.int32), learners[0], behaviour, learners[1], target)


def learn_behaviour(settings: OnestepSettings, state: OnestepState, batch: Batch):
    """An update of the first part: the clone and its Q."""
    adam = optax.adam(settings.learning_rate)
    target = target_value(state.critic_target, batch, settings.discount)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch, 1.0)
    state = OnestepState(state.updates + 1, actor, actor.params, critic, moved)
    return state, {"critic_loss": error, "actor_loss": loss, "q": target.mean()}


def improve(settings: OnestepSettings, state: OnestepState, batch: Batch):
    """An update of the second part: the policy, towards actions that beat the behaviour."""
    adam = optax.adam(settings.learning_rate)
    better = advantage(state.behaviour, state.critic.params, batch)
    weights = losses.exponential_weights(better, settings.inverse_temperature, settings.weight_clip)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch, weights)
    state = state._replace(updates=state.updates + 1, actor=actor)
    zero = jnp.zeros(())
    return state, {"critic_loss": zero, "actor_loss": loss, "q": zero}


def step(settings: OnestepSettings, shapes: Shapes, state: OnestepState, columns, inputs):
    """One update of the part the run is in."""
    batch = batch_of(columns, inputs.rows, shapes)
    first = state.updates < round(settings.critic_share * settings.updates)
    parts = partial(learn_behaviour, settings), partial(improve, settings)
    return jax.lax.cond(first, *parts, state, batch)


@functools.lru_cache
def make(settings: OnestepSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.actor.params)


KIND = AgentKind(
    make, OnestepSettings, revision=1, rows="sarsa", schedule="`critic_share`", discrete=True
)
