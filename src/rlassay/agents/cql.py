"""CQL: conservative Q-learning on SAC (Kumar et al. 2020), defaults of the official code for MuJoCo, no Lagrangian."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, descend, descend_in_parts, network_rng, new_learner
from rlassay.kernel import nets
from rlassay.settings import added_later

LOG_STD_BOUNDS = (-5.0, 2.0)
MEAN_BOUND = 9.0
PARTS = 4  # of the critic's batch; each state stands there with all its proposed actions
Normal = tuple[jax.Array, jax.Array]  # mean and log-deviation before the tanh


@dataclass(frozen=True)
class CQLSettings(ValueSettings):
    """Settings of CQL; `learning_rate` is the critic's."""

    depth: int = 3
    actor_learning_rate: float = 1e-4  # of the entropy temperature, too
    conservative_weight: float = 5.0
    conservative_temperature: float = 1.0  # of the soft maximum over proposed actions
    action_samples: int = 10  # of each of three proposals: uniform, policy, policy at the successor
    cloning_share: float = 0.04  # of the updates, in which the actor clones instead
    # Many recorded actions lie at a bound, where the likelihood of a tanh policy has no end: how far inside it sees them.
    likelihood_margin: float = added_later(0.0)
    # With `values` the conservative weight is multiplied by the mean |Q| of the data, as the squared error grows.
    conservative_scaling: Literal["none", "values"] = added_later("none")


class CQLState(NamedTuple):
    updates: jax.Array
    actor: Learner
    critic: Learner
    critic_target: nets.Params
    log_temperature: Learner  # of the entropy


def distribution(actor: nets.Params, observations: jax.Array) -> Normal:
    """Mean and log-deviation within their bounds."""
    mean, log_std = jnp.split(nets.mlp(actor, observations), 2, axis=-1)
    return jnp.clip(mean, -MEAN_BOUND, MEAN_BOUND), jnp.clip(log_std, *LOG_STD_BOUNDS)


def target_value(
    critic_target: nets.Params, batch: Batch, next_policy: Normal, discount: float, key: jax.Array
) -> jax.Array:
    """One-step target at a sampled next action."""
    mean, log_std = next_policy
    following, _ = losses.tanh_gaussian(mean, log_std, jax.random.normal(key, mean.shape))
    values = nets.scalar(critic_target, batch.next_observations, following).min(axis=0)
    return losses.td_target(batch.rewards, batch.not_terminal, discount, values)


def critic_loss(
    critic: nets.Params, observations, actions, log_density, target, *, settings: CQLSettings
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Squared error and conservative gap.

    The first action of each state is the data's; the others are proposals with their log-densities.
    """
    values = nets.scalar_per_state(critic, observations, actions.swapaxes(0, 1))
    data_values = values[:, 0]
    gap = losses.conservative_gap(
        values[:, 1:] - log_density.T, data_values, settings.conservative_temperature
    )
    error = losses.twin_squared_error(data_values, target)
    weight: float | jax.Array = settings.conservative_weight
    if settings.conservative_scaling == "values":
        weight = weight * losses.mean_absolute(data_values)
    return error + weight * gap, (error, gap)


def actor_loss(
    actor: nets.Params,
    critic: nets.Params,
    log_temperature: jax.Array,
    batch: Batch,
    cloning,
    key,
    *,
    margin: float = 0.0,
) -> tuple[jax.Array, tuple[Normal, jax.Array, jax.Array]]:
    """SAC's loss, with the data's likelihood instead of Q while `cloning`; aux: policy, entropy, mean Q."""
    policy = distribution(actor, batch.observations)
    actions, log_prob = losses.tanh_gaussian(*policy, jax.random.normal(key, policy[0].shape))
    q = nets.scalar(critic, batch.observations, actions).min(axis=0)
    recorded = jnp.clip(batch.actions, margin - 1, 1 - margin) if margin else batch.actions
    likelihood = losses.tanh_gaussian_log_prob(*policy, recorded)
    goal = jnp.where(cloning, likelihood, q)
    entropy_weight = jnp.exp(log_temperature)
    return (entropy_weight * log_prob - goal).mean(), (policy, log_prob.mean(), q.mean())


def temperature_loss(
    log_temperature: jax.Array, log_prob: jax.Array, action_dim: int
) -> tuple[jax.Array, None]:
    """Moves the entropy towards minus the action dimension."""
    target_entropy = -float(action_dim)
    return -log_temperature * (log_prob + target_entropy), None


def proposals(
    policy: Normal, next_policy: Normal, count: int, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Actions to push down, (3 count, batch, action), and the log-density each was drawn with."""
    mean, log_std = (jnp.stack(pair)[:, None] for pair in zip(policy, next_policy, strict=True))
    key, uniform_key = jax.random.split(key)
    shape = (2, count, *mean.shape[2:])
    drawn, log_prob = losses.tanh_gaussian(mean, log_std, jax.random.normal(key, shape))
    uniform = jax.random.uniform(uniform_key, shape[1:], minval=-1, maxval=1)
    density = jnp.full(shape[1:3], -shape[-1] * np.log(2), jnp.float32)
    actions = jnp.concatenate([uniform, drawn[0], drawn[1]])
    return actions, jnp.concatenate([density, log_prob[0], log_prob[1]])


def init(settings: CQLSettings, shapes: Shapes, seed: int) -> CQLState:
    """Fresh networks; the critic's target begins as a copy."""
    adam, actor_adam, rng = *optimisers(settings), network_rng(seed)
    actor = nets.init_mlp(rng, hidden(settings, shapes.observation_dim, 2 * shapes.action_dim))
    critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), ensemble=2)
    return CQLState(
        jnp.zeros((), jnp.int32),
        new_learner(actor_adam, actor),
        new_learner(adam, critic),
        jax.tree.map(jnp.array, critic),
        new_learner(actor_adam, jnp.zeros(())),
    )


def optimisers(settings: CQLSettings):
    """Of the critic, and of actor and entropy temperature."""
    return optax.adam(settings.learning_rate), optax.adam(settings.actor_learning_rate)


def update_critic(settings: CQLSettings, state: CQLState, batch: Batch, policy: Normal, keys):
    """One step of both critics, a part of the batch at a time."""
    adam, _ = optimisers(settings)
    next_policy = distribution(state.actor.params, batch.next_observations)
    target = target_value(state.critic_target, batch, next_policy, settings.discount, keys[0])
    actions, log_density = proposals(policy, next_policy, settings.action_samples, keys[1])
    every = jnp.concatenate([batch.actions[None], actions]).swapaxes(0, 1)
    columns = batch.observations, every, log_density.T, target
    loss, parts = partial(critic_loss, settings=settings), math.gcd(settings.batch_size, PARTS)
    return descend_in_parts(adam, state.critic, loss, *columns, parts=parts)


def step(settings: CQLSettings, shapes: Shapes, state: CQLState, columns, inputs):
    """One update: actor, entropy temperature and critic, all from the parameters before it."""
    _, actor_adam = optimisers(settings)
    batch = columns.batch(inputs.rows, shapes)
    actor_key, *critic_keys = jax.random.split(inputs.key, 3)
    border = round(settings.cloning_share * settings.updates)
    actor, loss, (policy, log_prob, q) = descend(
        actor_adam,
        state.actor,
        partial(actor_loss, margin=settings.likelihood_margin),
        state.critic.params,
        state.log_temperature.params,
        batch,
        state.updates < border,
        actor_key,
    )
    temperature, _, _ = descend(
        actor_adam, state.log_temperature, temperature_loss, log_prob, shapes.action_dim
    )
    critic, _, (error, gap) = update_critic(settings, state, batch, policy, critic_keys)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    info = {"critic_loss": error, "conservative_gap": gap, "actor_loss": loss, "q": q}
    return CQLState(state.updates + 1, actor, critic, moved, temperature), info


@functools.lru_cache
def make(settings: CQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_agent(
        settings,
        shapes,
        init,
        step,
        layers=lambda state: nets.first_outputs(state.actor.params, shapes.action_dim),
    )


KIND = AgentKind(make, CQLSettings, revision=1, rows="bootstrap", schedule="`cloning_share`")
