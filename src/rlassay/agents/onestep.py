"""OnestepRL (Brandfonbrener et al. 2021), the variant with exponential weights: one improvement of the behaviour.

First part of the updates: the behaviour by cloning and its Q by SARSA, side by side. Second part: both frozen, the
policy starts as the clone and is improved by advantage-weighted cloning.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents import losses
from rlassay.agents.agent import (
    NETWORK_STREAM,
    Agent,
    AgentKind,
    Shapes,
    ValueSettings,
    hidden,
    tanh_act,
)
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.kernel import nets

LOG_STD_BOUNDS = (-5.0, 0.0)


@dataclass(frozen=True)
class OnestepSettings(ValueSettings):
    """Settings of OnestepRL."""

    batch_size: int = 512
    learning_rate: float = 1e-4
    width: int = 1024
    critic_share: float = (
        0.8  # of the updates, for the behaviour and its Q; the rest is the policy's
    )
    inverse_temperature: float = 1.0  # of the advantage weights
    weight_clip: float = 100.0
    action_samples: int = 10  # of the behaviour, for its state value


class OnestepState(NamedTuple):
    updates: jax.Array
    actor: Learner  # first the clone, then the policy
    behaviour: nets.Params  # the clone, frozen in the second part
    critic: Learner
    critic_target: nets.Params


@functools.lru_cache
def make(settings: OnestepSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    adam = optax.adam(settings.learning_rate)
    border = round(settings.critic_share * settings.updates)

    def init(seed: int) -> OnestepState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        sizes = hidden(settings, shapes.observation_dim, 2 * shapes.action_dim)
        actor = nets.init_mlp(rng, sizes)
        critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1))
        copies = jax.tree.map(jnp.array, (actor, critic))
        learners = new_learner(adam, actor), new_learner(adam, critic)
        return OnestepState(
            jnp.zeros((), jnp.int32), learners[0], copies[0], learners[1], copies[1]
        )

    def distribution(actor, observations) -> tuple[jax.Array, jax.Array]:
        mean, log_std = jnp.split(jnp.tanh(nets.mlp(actor, observations)), 2, axis=-1)
        low, high = LOG_STD_BOUNDS
        return mean, low + (high - low) * (log_std + 1) / 2

    def critic_loss(critic, batch, target):
        values = nets.scalar(critic, batch.observations, batch.actions)
        return losses.twin_squared_error(values, target), None

    def actor_loss(actor, batch, weights):
        mean, log_std = distribution(actor, batch.observations)
        log_prob = losses.gaussian_log_prob(mean, log_std, batch.actions)
        return -(weights * log_prob).mean(), None

    def advantage(state: OnestepState, batch, key) -> jax.Array:
        mean, log_std = distribution(state.behaviour, batch.observations)
        noise = jax.random.normal(key, (settings.action_samples, *mean.shape))
        actions = jnp.clip(mean + jnp.exp(log_std) * noise, -1, 1)
        every = jnp.concatenate([batch.actions[None], actions])
        values = nets.scalar_per_state(state.critic.params, batch.observations, every)
        return values[0] - values[1:].mean(axis=0)

    def learn_behaviour(state: OnestepState, batch, key):
        following = nets.scalar(state.critic_target, batch.next_observations, batch.next_actions)
        target = losses.td_target(batch.rewards, batch.not_terminal, settings.discount, following)
        critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
        moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
        actor, loss, _ = descend(adam, state.actor, actor_loss, batch, 1.0)
        state = OnestepState(state.updates + 1, actor, actor.params, critic, moved)
        return state, {"critic_loss": error, "actor_loss": loss, "q": target.mean()}

    def improve(state: OnestepState, batch, key):
        better = advantage(state, batch, key)
        weights = losses.exponential_weights(
            better, settings.inverse_temperature, settings.weight_clip
        )
        actor, loss, _ = descend(adam, state.actor, actor_loss, batch, weights)
        state = state._replace(updates=state.updates + 1, actor=actor)
        zero = jnp.zeros(())
        return state, {"critic_loss": zero, "actor_loss": loss, "q": zero}

    def step(state: OnestepState, columns, inputs):
        batch = columns.batch(inputs.rows, shapes)
        first = state.updates < border
        return jax.lax.cond(first, learn_behaviour, improve, state, batch, inputs.key)

    def layers(state: OnestepState) -> nets.Params:
        return nets.first_outputs(state.actor.params, shapes.action_dim)

    return Agent(init, step, tanh_act(layers), layers)


KIND = AgentKind(make, OnestepSettings, revision=1, rows="sarsa")
