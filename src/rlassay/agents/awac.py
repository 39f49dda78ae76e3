"""AWAC: advantage-weighted actor-critic (Nair et al. 2020), defaults of the official settings as kept in jaxrl."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents import gaussian, losses
from rlassay.agents.agent import NETWORK_STREAM, Agent, AgentKind, Shapes, hidden, tanh_act
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.agents.regularisers import RegularisedSettings, make_regulariser
from rlassay.kernel import nets

LOG_STD_BOUNDS = (-10.0, 2.0)


@dataclass(frozen=True)
class AWACSettings(RegularisedSettings):
    """Settings of AWAC."""

    bwd_critic: Literal["sarsa", "awac"] = "sarsa"
    actor_depth: int = 4  # hidden layers of the actor
    weighting: Literal["softmax", "clipped_exponential"] = "softmax"  # official; CORL's
    temperature: float = 2.0  # divides the advantage
    weight_clip: float = 100.0  # of the clipped exponential
    actor_weight_decay: float = 1e-4


class AWACState(NamedTuple):
    actor: Learner
    critic: Learner
    critic_target: nets.Params
    regulariser: Any


@functools.lru_cache
def make(settings: AWACSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    adam = optax.adam(settings.learning_rate)
    actor_adam = optax.adamw(settings.learning_rate, weight_decay=settings.actor_weight_decay)
    regulariser = make_regulariser(settings, shapes)

    def init(seed: int) -> AWACState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        actor = gaussian.init_actor(rng, hidden(settings, *shapes, settings.actor_depth))
        sizes = hidden(settings, sum(shapes), 1)
        critic = nets.init_mlp(rng, sizes, orthogonal=True, ensemble=2)
        learners = new_learner(actor_adam, actor), new_learner(adam, critic)
        return AWACState(*learners, jax.tree.map(jnp.array, critic), regulariser.init(rng))

    def prepare(state: AWACState, columns, seed: int) -> AWACState:
        return state._replace(regulariser=regulariser.prepare(state.regulariser, columns, seed))

    def sample(mean, log_std, key) -> jax.Array:
        noise = jax.random.normal(key, mean.shape)
        return jnp.clip(mean + jnp.exp(log_std) * noise, -1, 1)

    def target_value(state: AWACState, batch, key) -> jax.Array:
        policy = gaussian.distribution(state.actor.params, batch.next_observations, LOG_STD_BOUNDS)
        following = sample(*policy, key)
        values = nets.scalar(state.critic_target, batch.next_observations, following).min(axis=0)
        return losses.td_target(batch.rewards, batch.not_terminal, settings.discount, values)

    def critic_loss(critic, batch, target):
        values = nets.scalar(critic, batch.observations, batch.actions)
        return losses.twin_squared_error(values, target), None

    def advantage_weights(critic, batch, proposed) -> tuple[jax.Array, jax.Array]:
        states = jnp.concatenate([batch.observations, batch.observations])
        actions = jnp.concatenate([batch.actions, jax.lax.stop_gradient(proposed)])
        q, own = jnp.split(nets.scalar(critic, states, actions).min(axis=0), 2)
        if settings.weighting == "softmax":
            return losses.softmax_weights(q - own, settings.temperature), q
        inverse = 1 / settings.temperature
        return losses.exponential_weights(q - own, inverse, settings.weight_clip), q

    def actor_loss(actor, state: AWACState, batch, key):
        mean, log_std = gaussian.distribution(actor, batch.observations, LOG_STD_BOUNDS)
        weights, q = advantage_weights(state.critic.params, batch, sample(mean, log_std, key))
        hook = (state.regulariser, own_value(state), batch.observations, mean, key)
        weights = weights + regulariser.weights(*hook)
        cloning = -(weights * losses.gaussian_log_prob(mean, log_std, batch.actions)).mean()
        return cloning + regulariser.term(*hook), (mean, q.mean(), (weights < 0).mean())

    def own_value(state: AWACState):
        return lambda s, a: nets.scalar(state.critic.params, s, a).min(axis=0)

    def step(state: AWACState, columns, inputs):
        batch = columns.batch(inputs.rows, shapes)
        next_key, key = jax.random.split(inputs.key)
        target = target_value(state, batch, next_key)
        critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
        state = state._replace(critic=critic)
        actor, loss, (mean, q, negative) = descend(
            actor_adam, state.actor, actor_loss, state, batch, key
        )
        moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
        hook, hook_info = regulariser.update(
            state.regulariser, own_value(state), batch.observations, mean, key
        )
        info = {"critic_loss": error, "actor_loss": loss, "q": q, "negative_weights": negative}
        return AWACState(actor, critic, moved, hook), info | hook_info

    def layers(state: AWACState) -> nets.Params:
        return state.actor.params["layers"]

    return Agent(init, step, tanh_act(layers), layers, prepare=prepare)


KIND = AgentKind(make, AWACSettings, revision=1, rows="bootstrap")
