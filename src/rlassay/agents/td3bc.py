"""TD3+BC: TD3 with a cloning term (Fujimoto and Gu 2021), defaults of the official code."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents import losses
from rlassay.agents.agent import NETWORK_STREAM, Agent, AgentKind, Shapes, hidden, tanh_act
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.agents.regularisers import RegularisedSettings, make_regulariser
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


@functools.lru_cache
def make(settings: TD3BCSettings, shapes: Shapes) -> Agent:
    """The agent for these settings; one step is `policy_delay` critic updates and one of the actor."""
    adam = optax.adam(settings.learning_rate)
    regulariser = make_regulariser(settings, shapes)

    def init(seed: int) -> TD3BCState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        actor = nets.init_mlp(rng, hidden(settings, *shapes))
        critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), ensemble=2)
        actor_target, critic_target = jax.tree.map(jnp.array, (actor, critic))
        learners = new_learner(adam, actor), new_learner(adam, critic)
        return TD3BCState(*learners, actor_target, critic_target, regulariser.init(rng))

    def prepare(state: TD3BCState, columns, seed: int) -> TD3BCState:
        return state._replace(regulariser=regulariser.prepare(state.regulariser, columns, seed))

    def target_value(state: TD3BCState, batch, key) -> jax.Array:
        noise = settings.target_noise * jax.random.normal(key, batch.actions.shape)
        noise = jnp.clip(noise, -settings.target_noise_clip, settings.target_noise_clip)
        following = jnp.tanh(nets.mlp(state.actor_target, batch.next_observations)) + noise
        following = jnp.clip(following, -1, 1)
        values = nets.scalar(state.critic_target, batch.next_observations, following).min(axis=0)
        return losses.td_target(batch.rewards, batch.not_terminal, settings.discount, values)

    def critic_loss(critic, batch, target):
        values = nets.scalar(critic, batch.observations, batch.actions)
        return losses.twin_squared_error(values, target), None

    def actor_loss(actor, state: TD3BCState, batch, key):
        mean = jnp.tanh(nets.mlp(actor, batch.observations))
        q = own_value(state)(batch.observations, mean)
        hook = (state.regulariser, own_value(state), batch.observations, mean, key)
        weights = 1 + regulariser.weights(*hook)
        cloning = (weights * ((mean - batch.actions) ** 2).mean(axis=-1)).mean()
        improving = -settings.value_weight * q.mean() / losses.mean_absolute(q)
        negative = jnp.mean(jnp.asarray(weights) < 0)
        return improving + cloning + regulariser.term(*hook), (mean, q.mean(), negative)

    def own_value(state: TD3BCState):
        first = jax.tree.map(lambda leaf: leaf[0], state.critic.params)
        return lambda s, a: nets.scalar(first, s, a)

    def update_critic(state: TD3BCState, batch, key):
        target = target_value(state, batch, key)
        critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
        return state._replace(critic=critic), error

    def update_actor(state: TD3BCState, batch, key):
        actor, loss, (mean, q, negative) = descend(adam, state.actor, actor_loss, state, batch, key)
        hook, hook_info = regulariser.update(
            state.regulariser, own_value(state), batch.observations, mean, key
        )
        state = state._replace(
            actor=actor,
            actor_target=nets.polyak(state.actor_target, actor.params, settings.target_rate),
            critic_target=nets.polyak(
                state.critic_target, state.critic.params, settings.target_rate
            ),
            regulariser=hook,
        )
        return state, {"actor_loss": loss, "q": q, "negative_weights": negative, **hook_info}

    def step(state: TD3BCState, columns, inputs):
        keys = jax.random.split(inputs.key, settings.policy_delay + 1)
        batch, errors = None, []
        for rows, key in zip(jnp.split(inputs.rows, settings.policy_delay), keys, strict=False):
            batch = columns.batch(rows, shapes)
            state, error = update_critic(state, batch, key)
            errors.append(error)
        state, info = update_actor(state, batch, keys[-1])
        return state, {"critic_loss": sum(errors) / len(errors), **info}

    def layers(state: TD3BCState) -> nets.Params:
        return state.actor.params

    return Agent(init, step, tanh_act(layers), layers, settings.policy_delay, prepare)


KIND = AgentKind(make, TD3BCSettings, revision=1, rows="bootstrap")
