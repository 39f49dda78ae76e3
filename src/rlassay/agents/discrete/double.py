"""What DQN and CQL share: one critic of all actions, fitted towards the double target. They differ in `critic_loss` only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, Shapes, ValueSettings, hidden
from rlassay.agents.discrete.actions import batch_of, make_discrete, taken
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class DoubleSettings(ValueSettings):
    """Settings DQN and CQL share."""

    huber_delta: float = 1.0  # errors beyond count linearly


class DoubleState(NamedTuple):
    critic: Learner
    critic_target: nets.Params


def target_value(
    critic: nets.Params, critic_target: nets.Params, batch: Any, discount: float
) -> jax.Array:
    """One-step target at the action the critic prefers, valued by its target network; online DQN has the same."""
    preferred = nets.mlp(critic, batch.next_observations).argmax(axis=-1)
    following = taken(nets.mlp(critic_target, batch.next_observations), preferred)
    return losses.td_target(batch.rewards, batch.not_terminal, discount, following)


def init(settings: DoubleSettings, shapes: Shapes, seed: int) -> DoubleState:
    """A fresh critic; its target begins as a copy."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    critic = nets.init_mlp(rng, hidden(settings, *shapes))
    return DoubleState(new_learner(adam, critic), jax.tree.map(jnp.array, critic))


def update(
    adam: optax.GradientTransformation,
    settings: Any,
    state: DoubleState,
    batch: Any,
    critic_loss: Callable[..., Any],
):
    """Critic, then target, on one batch; online DQN has the same."""
    target = target_value(state.critic.params, state.critic_target, batch, settings.discount)
    critic, _, info = descend(adam, state.critic, critic_loss, batch, target, settings)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    return DoubleState(critic, moved), {**info, "target": target.mean()}


def step(
    settings: DoubleSettings,
    shapes: Shapes,
    state: DoubleState,
    columns,
    inputs,
    *,
    critic_loss: Callable[..., Any],
):
    """One update."""
    batch, adam = batch_of(columns, inputs.rows, shapes), optax.adam(settings.learning_rate)
    return update(adam, settings, state, batch, critic_loss)


def make_double(settings: DoubleSettings, shapes: Shapes, critic_loss: Callable[..., Any]) -> Agent:
    """An agent from `critic_loss(critic, batch, target, settings)`, whose aux is what is logged."""
    bound = partial(step, critic_loss=critic_loss)
    return make_discrete(settings, shapes, init, bound, layers=lambda state: state.critic.params)
