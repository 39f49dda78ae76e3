"""CQL: conservative Q-learning on SAC (Kumar et al. 2020), defaults of the official code for MuJoCo, no Lagrangian."""

from __future__ import annotations

import functools
import math
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
from rlassay.agents.learner import Learner, descend, descend_in_parts, new_learner
from rlassay.kernel import nets

LOG_STD_BOUNDS = (-5.0, 2.0)
MEAN_BOUND = 9.0
PARTS = 4  # of the critic's batch; each state stands there with all its proposed actions


@dataclass(frozen=True)
class CQLSettings(ValueSettings):
    """Settings of CQL; `learning_rate` is the critic's."""

    depth: int = 3
    actor_learning_rate: float = 1e-4  # of the entropy temperature, too
    conservative_weight: float = 5.0
    conservative_temperature: float = 1.0  # of the soft maximum over proposed actions
    action_samples: int = 10  # of each of three proposals: uniform, policy, policy at the successor
    cloning_share: float = 0.04  # of the updates, in which the actor clones instead


class CQLState(NamedTuple):
    updates: jax.Array
    actor: Learner
    critic: Learner
    critic_target: nets.Params
    log_temperature: Learner  # of the entropy


@functools.lru_cache
def make(settings: CQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    adam = optax.adam(settings.learning_rate)
    actor_adam = optax.adam(settings.actor_learning_rate)
    cloning_updates = round(settings.cloning_share * settings.updates)
    parts = math.gcd(settings.batch_size, PARTS)

    def init(seed: int) -> CQLState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        sizes = hidden(settings, shapes.observation_dim, 2 * shapes.action_dim)
        actor = nets.init_mlp(rng, sizes)
        critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), ensemble=2)
        return CQLState(
            jnp.zeros((), jnp.int32),
            new_learner(actor_adam, actor),
            new_learner(adam, critic),
            jax.tree.map(jnp.array, critic),
            new_learner(actor_adam, jnp.zeros(())),
        )

    def distribution(actor, observations) -> tuple[jax.Array, jax.Array]:
        mean, log_std = jnp.split(nets.mlp(actor, observations), 2, axis=-1)
        return jnp.clip(mean, -MEAN_BOUND, MEAN_BOUND), jnp.clip(log_std, *LOG_STD_BOUNDS)

    def actor_loss(actor, state: CQLState, batch, key):
        policy = distribution(actor, batch.observations)
        actions, log_prob = losses.tanh_gaussian(*policy, jax.random.normal(key, policy[0].shape))
        q = nets.scalar(state.critic.params, batch.observations, actions).min(axis=0)
        likelihood = losses.tanh_gaussian_log_prob(*policy, batch.actions)
        goal = jnp.where(state.updates < cloning_updates, likelihood, q)
        entropy_weight = jnp.exp(state.log_temperature.params)
        return (entropy_weight * log_prob - goal).mean(), (policy, log_prob.mean(), q.mean())

    def temperature_loss(log_temperature, log_prob):
        target_entropy = -float(shapes.action_dim)
        return -log_temperature * (log_prob + target_entropy), None

    def proposals(policy, next_policy, key) -> tuple[jax.Array, jax.Array]:
        """Actions to push down, (3 samples, batch, action), and the log-density each was drawn with."""
        count = settings.action_samples
        mean, log_std = (jnp.stack(pair)[:, None] for pair in zip(policy, next_policy, strict=True))
        key, uniform_key = jax.random.split(key)
        shape = (2, count, *mean.shape[2:])
        drawn, log_prob = losses.tanh_gaussian(mean, log_std, jax.random.normal(key, shape))
        uniform = jax.random.uniform(uniform_key, shape[1:], minval=-1, maxval=1)
        density = jnp.full(shape[1:3], -shapes.action_dim * np.log(2), jnp.float32)
        actions = jnp.concatenate([uniform, drawn[0], drawn[1]])
        return actions, jnp.concatenate([density, log_prob[0], log_prob[1]])

    def critic_loss(critic, observations, actions, log_density, target):
        """The first action of each state is the data's; the others are proposals with their log-densities."""
        values = nets.scalar_per_state(critic, observations, actions.swapaxes(0, 1))
        data_values = values[:, 0]
        gap = losses.conservative_gap(
            values[:, 1:] - log_density.T, data_values, settings.conservative_temperature
        )
        error = losses.twin_squared_error(data_values, target)
        return error + settings.conservative_weight * gap, (error, gap)

    def target_value(state: CQLState, batch, next_policy, key) -> jax.Array:
        mean, log_std = next_policy
        following, _ = losses.tanh_gaussian(mean, log_std, jax.random.normal(key, mean.shape))
        values = nets.scalar(state.critic_target, batch.next_observations, following).min(axis=0)
        return losses.td_target(batch.rewards, batch.not_terminal, settings.discount, values)

    def step(state: CQLState, columns, inputs):
        batch = columns.batch(inputs.rows, shapes)
        actor_key, next_key, proposal_key = jax.random.split(inputs.key, 3)
        actor, loss, (policy, log_prob, q) = descend(
            actor_adam, state.actor, actor_loss, state, batch, actor_key
        )
        temperature, _, _ = descend(actor_adam, state.log_temperature, temperature_loss, log_prob)
        next_policy = distribution(state.actor.params, batch.next_observations)
        target = target_value(state, batch, next_policy, next_key)
        actions, log_density = proposals(policy, next_policy, proposal_key)
        every = jnp.concatenate([batch.actions[None], actions]).swapaxes(0, 1)
        critic, _, (error, gap) = descend_in_parts(
            adam, state.critic, critic_loss, batch.observations, every, log_density.T, target, parts=parts
        )  # fmt: skip
        moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
        info = {"critic_loss": error, "conservative_gap": gap, "actor_loss": loss, "q": q}
        return CQLState(state.updates + 1, actor, critic, moved, temperature), info

    def layers(state: CQLState) -> nets.Params:
        return nets.first_outputs(state.actor.params, shapes.action_dim)

    return Agent(init, step, tanh_act(layers), layers)


KIND = AgentKind(make, CQLSettings, revision=1, rows="bootstrap")
