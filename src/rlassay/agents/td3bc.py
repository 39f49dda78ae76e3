"""TD3+BC: TD3 with a cloning term (Fujimoto and Gu 2021), defaults of the official code."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.agents.regularisers import Pull, RegularisedSettings, make_regulariser, prepared
from rlassay.kernel import nets


@dataclass(frozen=True)
class TD3BCSettings(RegularisedSettings):
    """Settings of TD3+BC."""

    normalise_observations: bool = True
    bwd_critic: Literal["sarsa", "td3bc"] = "sarsa"
    value_weight: float = 2.5  # of Q against cloning, after division by mean |Q|
    policy_delay: int = 2  # critic updates per actor update
    target_noise: float = 0.2  # on the target policy's action
    target_noise_clip: float = 0.5


class TD3BCState(NamedTuple):
    actor: Learner
    critic: Learner
    actor_target: nets.Params
    critic_target: nets.Params
    regulariser: Any


def first_value(critic: nets.Params, observations, actions) -> jax.Array:
    """Q of the first critic, the one the actor follows."""
    first = jax.tree.map(lambda leaf: leaf[0], critic)
    return nets.scalar(first, observations, actions)


def target_value(
    actor_target: nets.Params,
    critic_target: nets.Params,
    batch: Any,
    noise: jax.Array,
    settings: Any,
) -> jax.Array:
    """One-step target at the target policy's action with clipped noise; online TD3 has the same."""
    smoothing = settings.target_noise * noise
    smoothing = jnp.clip(smoothing, -settings.target_noise_clip, settings.target_noise_clip)
    following = jnp.tanh(nets.mlp(actor_target, batch.next_observations)) + smoothing
    following = jnp.clip(following, -1, 1)
    values = nets.scalar(critic_target, batch.next_observations, following).min(axis=0)
    return losses.td_target(batch.rewards, batch.not_terminal, settings.discount, values)


def critic_loss(critic: nets.Params, batch: Any, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of both critics."""
    values = nets.scalar(critic, batch.observations, batch.actions)
    return losses.twin_squared_error(values, target), None


def actor_loss(
    actor: nets.Params, critic: nets.Params, batch: Batch, settings: TD3BCSettings, pull: Pull
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Cloning minus Q in units of its mean size; aux: mean actions, mean Q, share of negative weights."""
    mean = jnp.tanh(nets.mlp(actor, batch.observations))
    q = first_value(critic, batch.observations, mean)
    weights = 1 + pull.weights(batch.observations, mean)
    cloning = (weights * ((mean - batch.actions) ** 2).mean(axis=-1)).mean()
    improving = -settings.value_weight * q.mean() / losses.mean_absolute(q)
    negative = jnp.mean(jnp.asarray(weights) < 0)
    loss = improving + cloning + pull.term(batch.observations, mean)
    return loss, (mean, q.mean(), negative)


def init(settings: TD3BCSettings, shapes: Shapes, seed: int) -> TD3BCState:
    """Fresh networks; the targets begin as copies."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    actor = nets.init_mlp(rng, hidden(settings, *shapes))
    critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), ensemble=2)
    actor_target, critic_target = jax.tree.map(jnp.array, (actor, critic))
    learners = new_learner(adam, actor), new_learner(adam, critic)
    regulariser = make_regulariser(settings, shapes)
    return TD3BCState(*learners, actor_target, critic_target, regulariser.init(rng))


def update_critic(settings: TD3BCSettings, state: TD3BCState, batch: Batch, key):
    """One step of both critics."""
    adam = optax.adam(settings.learning_rate)
    noise = jax.random.normal(key, batch.actions.shape)
    target = target_value(state.actor_target, state.critic_target, batch, noise, settings)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    return state._replace(critic=critic), error


def update_actor(settings: TD3BCSettings, shapes: Shapes, state: TD3BCState, batch: Batch, key):
    """One step of the actor, and of both targets."""
    adam, regulariser = optax.adam(settings.learning_rate), make_regulariser(settings, shapes)
    critic, rate = state.critic.params, settings.target_rate
    pull = regulariser.pull(state.regulariser, partial(first_value, critic), key)
    actor, loss, (mean, q, negative) = descend(
        adam, state.actor, actor_loss, critic, batch, settings, pull
    )
    hook, hook_info = regulariser.update(
        state.regulariser, partial(first_value, critic), batch.observations, mean, key
    )
    state = state._replace(
        actor=actor,
        actor_target=nets.polyak(state.actor_target, actor.params, rate),
        critic_target=nets.polyak(state.critic_target, critic, rate),
        regulariser=hook,
    )
    return state, {"actor_loss": loss, "q": q, "negative_weights": negative, **hook_info}


def step(settings: TD3BCSettings, shapes: Shapes, state: TD3BCState, columns, inputs):
    """`policy_delay` updates of the critics, each on a batch of its own, and one of the actor on the last."""
    keys = jax.random.split(inputs.key, settings.policy_delay + 1)
    batch, errors = None, []
    for rows, key in zip(jnp.split(inputs.rows, settings.policy_delay), keys, strict=False):
        batch = columns.batch(rows, shapes)
        state, error = update_critic(settings, state, batch, key)
        errors.append(error)
    assert batch is not None
    state, info = update_actor(settings, shapes, state, batch, keys[-1])
    return state, {"critic_loss": sum(errors) / len(errors), **info}


@functools.lru_cache
def make(settings: TD3BCSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_agent(
        settings,
        shapes,
        init,
        step,
        layers=lambda state: state.actor.params,
        prepare=prepared,
        updates_per_step=settings.policy_delay,
    )


KIND = AgentKind(make, TD3BCSettings, revision=1, rows="bootstrap", schedule=None)
