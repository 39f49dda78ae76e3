"""What IQL and XQL share: a state value fitted in-sample, a critic towards it, advantage-weighted cloning.

The two differ in `value_loss` and `critic_loss` only; the order of one update is the official code's: value, actor
with the new value, critic with the new value, target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import gaussian, losses
from rlassay.agents.agent import Agent, Shapes, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, cosine_adam, descend, network_rng, new_learner
from rlassay.agents.regularisers import Pull, RegularisedSettings, make_regulariser, prepared
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


def own_value(critic_target: nets.Params, observations, actions) -> jax.Array:
    """The smaller Q of the two target critics."""
    return nets.scalar(critic_target, observations, actions).min(axis=0)


def actor_loss(
    actor: gaussian.Actor,
    batch: Batch,
    advantage: jax.Array,
    settings: ImplicitSettings,
    pull: Pull,
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Advantage-weighted likelihood of the data's actions; aux: mean actions, share of negative weights."""
    mean, log_std = gaussian.distribution(actor, batch.observations, LOG_STD_BOUNDS)
    weights = losses.exponential_weights(
        advantage, settings.inverse_temperature, settings.weight_clip
    )
    weights = weights + pull.weights(batch.observations, mean)
    cloning = -(weights * losses.gaussian_log_prob(mean, log_std, batch.actions)).mean()
    return cloning + pull.term(batch.observations, mean), (mean, (weights < 0).mean())


def init(
    settings: ImplicitSettings, shapes: Shapes, seed: int, *, value_layer_norm: bool
) -> ImplicitState:
    """Fresh networks; the critic's target begins as a copy."""
    adam, actor_adam, rng = *optimisers(settings), network_rng(seed)
    actor = gaussian.init_actor(rng, hidden(settings, *shapes))
    sizes = hidden(settings, shapes.observation_dim, 1)
    value = nets.init_mlp(rng, sizes, orthogonal=True, layer_norm=value_layer_norm)
    critic = nets.init_mlp(rng, hidden(settings, sum(shapes), 1), orthogonal=True, ensemble=2)
    learners = new_learner(actor_adam, actor), new_learner(adam, value), new_learner(adam, critic)
    target, regulariser = jax.tree.map(jnp.array, critic), make_regulariser(settings, shapes)
    return ImplicitState(*learners, target, regulariser.init(rng))


def optimisers(settings: ImplicitSettings):
    """Of value and critic, and of the actor."""
    adam = optax.adam(settings.learning_rate)
    return adam, cosine_adam(settings.learning_rate, settings.updates)


def step(
    settings: ImplicitSettings,
    shapes: Shapes,
    state: ImplicitState,
    columns,
    inputs,
    *,
    value_loss: Callable[..., Any],
    critic_loss: Callable[..., Any],
):
    """One update: value, actor with the new value, critic with the new value, target."""
    adam, actor_adam = optimisers(settings)
    regulariser = make_regulariser(settings, shapes)
    batch = columns.batch(inputs.rows, shapes)
    target_q = partial(own_value, state.critic_target)
    q = target_q(batch.observations, batch.actions)
    value, fitted, value_info = descend(adam, state.value, value_loss, batch, q, settings)
    both = jnp.concatenate([batch.observations, batch.next_observations])
    now, following = jnp.split(nets.scalar(value.params, both), 2)
    pull = regulariser.pull(state.regulariser, target_q, inputs.key)
    actor, cloning, (mean, negative) = descend(
        actor_adam, state.actor, actor_loss, batch, q - now, settings, pull
    )
    target = losses.td_target(batch.rewards, batch.not_terminal, settings.discount, following)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target, settings)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    hook, hook_info = regulariser.update(
        state.regulariser, target_q, batch.observations, mean, inputs.key
    )
    info = {"value_loss": fitted, "actor_loss": cloning, "critic_loss": error, "q": q.mean()}
    info |= value_info | hook_info | {"negative_weights": negative}
    return ImplicitState(actor, value, critic, moved, hook), info


def make_implicit(
    settings: ImplicitSettings,
    shapes: Shapes,
    value_loss: Callable[..., Any],
    critic_loss: Callable[..., Any],
    value_layer_norm: bool = False,
) -> Agent:
    """An agent from `value_loss(value, batch, q, settings)` and `critic_loss(critic, batch, target, settings)`."""
    return make_agent(
        settings,
        shapes,
        partial(init, value_layer_norm=value_layer_norm),
        partial(step, value_loss=value_loss, critic_loss=critic_loss),
        layers=lambda state: state.actor.params["layers"],
        prepare=prepared,
    )
