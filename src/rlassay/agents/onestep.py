"""OnestepRL (Brandfonbrener et al. 2021), the variant with exponential weights: one improvement of the behaviour.

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
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets

LOG_STD_BOUNDS = (-5.0, 0.0)


@dataclass(frozen=True)
class OnestepSettings(ValueSettings):
    """Settings of OnestepRL."""

    batch_size: int = 512
    learning_rate: float = 1e-4
    width: int = 1024
    # of the updates, for the behaviour and its Q; the policy has the rest
    critic_share: float = 0.8
    inverse_temperature: float = 1.0  # of the advantage weights
    weight_clip: float = 100.0
    action_samples: int = 10  # of the behaviour, for its state value


class OnestepState(NamedTuple):
    updates: jax.Array
    actor: Learner  # first the clone, then the policy
    behaviour: nets.Params  # the clone, frozen in the second part
    critic: Learner
    critic_target: nets.Params


def distribution(actor: nets.Params, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean action and log-deviation, both soft-clamped by tanh."""
    mean, log_std = jnp.split(jnp.tanh(nets.mlp(actor, observations)), 2, axis=-1)
    low, high = LOG_STD_BOUNDS
    return mean, low + (high - low) * (log_std + 1) / 2


def target_value(critic_target: nets.Params, batch: Batch, discount: float) -> jax.Array:
    """SARSA's target: the data's own next action."""
    following = nets.scalar(critic_target, batch.next_observations, batch.next_actions)
    return losses.td_target(batch.rewards, batch.not_terminal, discount, following)


def critic_loss(critic: nets.Params, batch: Batch, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of the one critic."""
    values = nets.scalar(critic, batch.observations, batch.actions)
    return losses.twin_squared_error(values, target), None


def actor_loss(
    actor: nets.Params, batch: Batch, weights: jax.Array | float
) -> tuple[jax.Array, None]:
    """Weighted likelihood of the data's actions."""
    mean, log_std = distribution(actor, batch.observations)
    log_prob = losses.gaussian_log_prob(mean, log_std, batch.actions)
    return -(weights * log_prob).mean(), None


def advantage(
    behaviour: nets.Params, critic: nets.Params, batch: Batch, samples: int, key: jax.Array
) -> jax.Array:
    """Q of the data's action minus its mean over actions drawn from the behaviour."""
    mean, log_std = distribution(behaviour, batch.observations)
    noise = jax.random.normal(key, (samples, *mean.shape))
    actions = jnp.clip(mean + jnp.exp(log_std) * noise, -1, 1)
    every = jnp.concatenate([batch.actions[None], actions])
    values = nets.scalar_per_state(critic, batch.observations, every)
    return values[0] - values[1:].mean(axis=0)


def init(settings: OnestepSettings, shapes: Shapes, seed: int) -> OnestepState:
    """Fresh networks; behaviour and the critic's target begin as copies."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    actor = nets.init_mlp(rng, hidden(settings, shapes.observation_dim, 2 * shapes.action_dim))
    critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1))
    behaviour, target = jax.tree.map(jnp.array, (actor, critic))
    learners = new_learner(adam, actor), new_learner(adam, critic)
    return OnestepState(jnp.zeros((), jnp.int32), learners[0], behaviour, learners[1], target)


def learn_behaviour(settings: OnestepSettings, state: OnestepState, batch: Batch, key):
    """An update of the first part: the clone and its Q."""
    adam = optax.adam(settings.learning_rate)
    target = target_value(state.critic_target, batch, settings.discount)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch, 1.0)
    state = OnestepState(state.updates + 1, actor, actor.params, critic, moved)
    return state, {"critic_loss": error, "actor_loss": loss, "q": target.mean()}


def improve(settings: OnestepSettings, state: OnestepState, batch: Batch, key):
    """An update of the second part: the policy, towards actions that beat the behaviour."""
    adam = optax.adam(settings.learning_rate)
    samples = settings.action_samples
    better = advantage(state.behaviour, state.critic.params, batch, samples, key)
    weights = losses.exponential_weights(better, settings.inverse_temperature, settings.weight_clip)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch, weights)
    state = state._replace(updates=state.updates + 1, actor=actor)
    zero = jnp.zeros(())
    return state, {"critic_loss": zero, "actor_loss": loss, "q": zero}


def step(settings: OnestepSettings, shapes: Shapes, state: OnestepState, columns, inputs):
    """One update of the part the run is in."""
    batch = columns.batch(inputs.rows, shapes)
    first = state.updates < round(settings.critic_share * settings.updates)
    parts = partial(learn_behaviour, settings), partial(improve, settings)
    return jax.lax.cond(first, *parts, state, batch, inputs.key)


@functools.lru_cache
def make(settings: OnestepSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_agent(
        settings,
        shapes,
        init,
        step,
        layers=lambda state: nets.first_outputs(state.actor.params, shapes.action_dim),
    )


KIND = AgentKind(make, OnestepSettings, revision=1, rows="sarsa", schedule="`critic_share`")
