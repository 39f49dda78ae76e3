"""AWAC: advantage-weighted actor-critic (Nair et al. 2020), defaults of the official settings as kept in jaxrl."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import gaussian, losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.agents.regularisers import Pull, RegularisedSettings, make_regulariser, prepared
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


def own_value(critic: nets.Params, observations, actions) -> jax.Array:
    """The smaller Q of the two critics."""
    return nets.scalar(critic, observations, actions).min(axis=0)


def sample(mean: jax.Array, log_std: jax.Array, key: jax.Array) -> jax.Array:
    """An action of the policy, inside the bounds."""
    noise = jax.random.normal(key, mean.shape)
    return jnp.clip(mean + jnp.exp(log_std) * noise, -1, 1)


def target_value(
    actor: gaussian.Actor, critic_target: nets.Params, batch: Batch, discount: float, key: jax.Array
) -> jax.Array:
    """One-step target at a sampled next action."""
    policy = gaussian.distribution(actor, batch.next_observations, LOG_STD_BOUNDS)
    following = sample(*policy, key)
    values = own_value(critic_target, batch.next_observations, following)
    return losses.td_target(batch.rewards, batch.not_terminal, discount, values)


def critic_loss(critic: nets.Params, batch: Batch, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of both critics."""
    values = nets.scalar(critic, batch.observations, batch.actions)
    return losses.twin_squared_error(values, target), None


def advantage_weights(
    critic: nets.Params, batch: Batch, proposed: jax.Array, settings: AWACSettings
) -> tuple[jax.Array, jax.Array]:
    """Weights by the advantage of the data's actions over proposed ones, and the data's Q."""
    states = jnp.concatenate([batch.observations, batch.observations])
    actions = jnp.concatenate([batch.actions, jax.lax.stop_gradient(proposed)])
    q, own = jnp.split(own_value(critic, states, actions), 2)
    if settings.weighting == "softmax":
        return losses.softmax_weights(q - own, settings.temperature), q
    inverse = 1 / settings.temperature
    return losses.exponential_weights(q - own, inverse, settings.weight_clip), q


def actor_loss(
    actor: gaussian.Actor,
    critic: nets.Params,
    batch: Batch,
    settings: AWACSettings,
    pull: Pull,
    key,
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Weighted likelihood of the data's actions; aux: mean actions, mean Q, share of negative weights."""
    mean, log_std = gaussian.distribution(actor, batch.observations, LOG_STD_BOUNDS)
    weights, q = advantage_weights(critic, batch, sample(mean, log_std, key), settings)
    weights = weights + pull.weights(batch.observations, mean)
    cloning = -(weights * losses.gaussian_log_prob(mean, log_std, batch.actions)).mean()
    loss = cloning + pull.term(batch.observations, mean)
    return loss, (mean, q.mean(), (weights < 0).mean())


def init(settings: AWACSettings, shapes: Shapes, seed: int) -> AWACState:
    """Fresh networks; the critic's target begins as a copy."""
    adam, actor_adam, rng = *optimisers(settings), network_rng(seed)
    actor = gaussian.init_actor(rng, hidden(settings, *shapes, settings.actor_depth))
    critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), orthogonal=True, ensemble=2)
    learners = new_learner(actor_adam, actor), new_learner(adam, critic)
    target, regulariser = jax.tree.map(jnp.array, critic), make_regulariser(settings, shapes)
    return AWACState(*learners, target, regulariser.init(rng))


def optimisers(settings: AWACSettings):
    """Of the critic, and of the actor."""
    adam = optax.adam(settings.learning_rate)
    return adam, optax.adamw(settings.learning_rate, weight_decay=settings.actor_weight_decay)


def step(settings: AWACSettings, shapes: Shapes, state: AWACState, columns, inputs):
    """One update: critic, actor with the new critic, target."""
    adam, actor_adam = optimisers(settings)
    regulariser = make_regulariser(settings, shapes)
    batch = columns.batch(inputs.rows, shapes)
    next_key, key = jax.random.split(inputs.key)
    target = target_value(
        state.actor.params, state.critic_target, batch, settings.discount, next_key
    )
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    online_q = partial(own_value, critic.params)
    pull = regulariser.pull(state.regulariser, online_q, key)
    actor, loss, (mean, q, negative) = descend(
        actor_adam, state.actor, actor_loss, critic.params, batch, settings, pull, key
    )
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    hook, hook_info = regulariser.update(state.regulariser, online_q, batch.observations, mean, key)
    info = {"critic_loss": error, "actor_loss": loss, "q": q, "negative_weights": negative}
    return AWACState(actor, critic, moved, hook), info | hook_info


@functools.lru_cache
def make(settings: AWACSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_agent(
        settings,
        shapes,
        init,
        step,
        layers=lambda state: state.actor.params["layers"],
        prepare=prepared,
    )


KIND = AgentKind(make, AWACSettings, revision=1, rows="bootstrap", schedule=None)
