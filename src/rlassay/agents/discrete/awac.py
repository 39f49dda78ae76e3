"""Discrete AWAC (Nair et al. 2020): values under the policy as exact sums over actions instead of samples."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes, ValueSettings, hidden
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import batch_of, expected, log_prob, make_discrete, taken
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class AWACSettings(ValueSettings):
    """Settings of discrete AWAC; defaults of its continuous sibling."""

    actor_depth: int = 4  # hidden layers of the actor
    weighting: Literal["softmax", "clipped_exponential"] = "softmax"  # official; CORL's
    temperature: float = 2.0  # divides the advantage
    weight_clip: float = 100.0  # of the clipped exponential
    actor_weight_decay: float = 1e-4


class AWACState(NamedTuple):
    actor: Learner
    critic: Learner
    critic_target: nets.Params


def target_value(
    actor: nets.Params, critic_target: nets.Params, batch: Batch, discount: float
) -> jax.Array:
    """One-step target: the smaller Q of the two targets, averaged over the policy."""
    values = nets.mlp(critic_target, batch.next_observations).min(axis=0)
    following = expected(values, nets.mlp(actor, batch.next_observations))
    return losses.td_target(batch.rewards, batch.not_terminal, discount, following)


def critic_loss(critic: nets.Params, batch: Batch, target: jax.Array) -> tuple[jax.Array, None]:
    """Squared error of both critics at the taken actions."""
    values = taken(nets.mlp(critic, batch.observations), batch.actions)
    return losses.twin_squared_error(values, target), None


def advantage_weights(
    critic: nets.Params, logits: jax.Array, batch: Batch, settings: AWACSettings
) -> tuple[jax.Array, jax.Array]:
    """Weights by the advantage of the data's actions over the policy, and the data's Q."""
    values = nets.mlp(critic, batch.observations).min(axis=0)
    q = taken(values, batch.actions)
    advantage = q - expected(values, jax.lax.stop_gradient(logits))
    if settings.weighting == "softmax":
        return losses.softmax_weights(advantage, settings.temperature), q
    inverse = 1 / settings.temperature
    return losses.exponential_weights(advantage, inverse, settings.weight_clip), q


def actor_loss(
    actor: nets.Params, critic: nets.Params, batch: Batch, settings: AWACSettings
) -> tuple[jax.Array, jax.Array]:
    """Weighted cross-entropy of the data's actions; aux: mean Q."""
    logits = nets.mlp(actor, batch.observations)
    weights, q = advantage_weights(critic, logits, batch, settings)
    return -(weights * log_prob(logits, batch.actions)).mean(), q.mean()


def init(settings: AWACSettings, shapes: Shapes, seed: int) -> AWACState:
    """Fresh networks; the critic's target begins as a copy."""
    adam, actor_adam, rng = *optimisers(settings), network_rng(seed)
    actor = nets.init_mlp(rng, hidden(settings, *shapes, settings.actor_depth), orthogonal=True)
    critic = nets.init_mlp(rng, hidden(settings, *shapes), orthogonal=True, ensemble=2)
    learners = new_learner(actor_adam, actor), new_learner(adam, critic)
    return AWACState(*learners, jax.tree.map(jnp.array, critic))


def optimisers(settings: AWACSettings):
    """Of the critic, and of the actor."""
    adam = optax.adam(settings.learning_rate)
    return adam, optax.adamw(settings.learning_rate, weight_decay=settings.actor_weight_decay)


def step(settings: AWACSettings, shapes: Shapes, state: AWACState, columns, inputs):
    """One update: critic, actor with the new critic, target."""
    adam, actor_adam = optimisers(settings)
    batch = batch_of(columns, inputs.rows, shapes)
    target = target_value(state.actor.params, state.critic_target, batch, settings.discount)
    critic, error, _ = descend(adam, state.critic, critic_loss, batch, target)
    actor, loss, q = descend(actor_adam, state.actor, actor_loss, critic.params, batch, settings)
    moved = nets.polyak(state.critic_target, critic.params, settings.target_rate)
    return AWACState(actor, critic, moved), {"critic_loss": error, "actor_loss": loss, "q": q}


@functools.lru_cache
def make(settings: AWACSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.actor.params)


KIND = AgentKind(make, AWACSettings, revision=1, rows="bootstrap", schedule=None, discrete=True)
