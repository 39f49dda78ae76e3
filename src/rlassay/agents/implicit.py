"""What IQL and XQL share: a state value fitted in-sample, a critic towards it, advantage-weighted cloning.

The two differ in `value_loss` and `critic_loss` only; the order of one update is the official code's: value, actor
with the new value, critic with the new value, target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents import gaussian, losses
from rlassay.agents.agent import NETWORK_STREAM, Agent, Shapes, hidden, tanh_act
from rlassay.agents.learner import Learner, cosine_adam, descend, new_learner
from rlassay.agents.regularisers import RegularisedSettings, make_regulariser
from rlassay.kernel import nets

LOG_STD_BOUNDS = (-5.0, 2.0)


@dataclass(frozen=True)
class ImplicitSettings(RegularisedSettings):
    """Settings IQL and XQL share."""

    reward_scaling: Any = "return_range"
    inverse_temperature: float = 3.0  # of the advantage weights
    weight_clip: float = 100.0


class ImplicitState(NamedTuple):
    actor: Learner
    value: Learner
    critic: Learner
    critic_target: nets.Params
    regulariser: Any


def make_implicit(
    settings: ImplicitSettings,
    shapes: Shapes,
    value_loss: Callable[[jax.Array], tuple[jax.Array, dict[str, jax.Array]]],
    critic_loss: Callable[[jax.Array, jax.Array], jax.Array],
    value_layer_norm: bool = False,
) -> Agent:
    """An agent from `value_loss(min Q - V)` and `critic_loss(Q, target)`."""
    adam = optax.adam(settings.learning_rate)
    actor_adam = cosine_adam(settings.learning_rate, settings.updates)
    regulariser = make_regulariser(settings, shapes)

    def init(seed: int) -> ImplicitState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        actor = gaussian.init_actor(rng, hidden(settings, *shapes))
        sizes = hidden(settings, shapes.observation_dim, 1)
        value = nets.init_mlp(rng, sizes, orthogonal=True, layer_norm=value_layer_norm)
        sizes = hidden(settings, sum(shapes), 1)
        critic = nets.init_mlp(rng, sizes, orthogonal=True, ensemble=2)
        learners = (
            new_learner(actor_adam, actor),
            new_learner(adam, value),
            new_learner(adam, critic),
        )
        return ImplicitState(*learners, jax.tree.map(jnp.array, critic), regulariser.init(rng))

    def prepare(state: ImplicitState, columns, seed: int) -> ImplicitState:
        return state._replace(regulariser=regulariser.prepare(state.regulariser, columns, seed))

    def fit_value(value, batch, q):
        return value_loss(q - nets.scalar(value, batch.observations))

    def fit_critic(critic, batch, target):
        return critic_loss(nets.scalar(critic, batch.observations, batch.actions), target), None

    def actor_loss(actor, state: ImplicitState, batch, advantage, key):
        mean, log_std = gaussian.distribution(actor, batch.observations, LOG_STD_BOUNDS)
        hook = (state.regulariser, own_value(state), batch.observations, mean, key)
        weights = losses.exponential_weights(
            advantage, settings.inverse_temperature, settings.weight_clip
        )
        weights = weights + regulariser.weights(*hook)
        cloning = -(weights * losses.gaussian_log_prob(mean, log_std, batch.actions)).mean()
        return cloning + regulariser.term(*hook), (mean, (weights < 0).mean())

    def own_value(state: ImplicitState):
        return lambda s, a: nets.scalar(state.critic_target, s, a).min(axis=0)

    def step(state: ImplicitState, columns, inputs):
        batch = columns.batch(inputs.rows, shapes)
        q = own_value(state)(batch.observations, batch.actions)
        value, fitted, value_info = descend(adam, state.value, fit_value, batch, q)
        both = jnp.concatenate([batch.observations, batch.next_observations])
        now, following = jnp.split(nets.scalar(value.params, both), 2)
        actor, cloning, (mean, negative) = descend(
            actor_adam, state.actor, actor_loss, state, batch, q - now, inputs.key
        )
        target = losses.td_target(batch.rewards, batch.not_terminal, settings.discount, following)
        critic, error, _ = descend(adam, state.critic, fit_critic, batch, target)
        moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
        hook, hook_info = regulariser.update(
            state.regulariser, own_value(state), batch.observations, mean, inputs.key
        )
        info = {"value_loss": fitted, "actor_loss": cloning, "critic_loss": error, "q": q.mean()}
        info |= value_info | hook_info | {"negative_weights": negative}
        return ImplicitState(actor, value, critic, moved, hook), info

    def layers(state: ImplicitState) -> nets.Params:
        return state.actor.params["layers"]

    return Agent(init, step, tanh_act(layers), layers, prepare=prepare)
