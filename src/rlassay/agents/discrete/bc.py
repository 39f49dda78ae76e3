"""Discrete BC: behavioural cloning with a categorical policy and the cross-entropy."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import optax

from rlassay.agents.agent import Agent, AgentKind, Shapes, hidden
from rlassay.agents.bc import BCSettings
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import batch_of, log_prob, make_discrete
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets


class BCState(NamedTuple):
    actor: Learner


def actor_loss(actor: nets.Params, batch: Batch) -> tuple[jax.Array, None]:
    """Cross-entropy of the action."""
    return -log_prob(nets.mlp(actor, batch.observations), batch.actions).mean(), None


def init(settings: BCSettings, shapes: Shapes, seed: int) -> BCState:
    """A fresh actor."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    return BCState(new_learner(adam, nets.init_mlp(rng, hidden(settings, *shapes))))


def step(settings: BCSettings, shapes: Shapes, state: BCState, columns, inputs):
    """One update."""
    adam = optax.adam(settings.learning_rate)
    batch = batch_of(columns, inputs.rows, shapes)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch)
    return BCState(actor), {"actor_loss": loss}


@functools.lru_cache
def make(settings: BCSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_discrete(settings, shapes, init, step, layers=lambda state: state.actor.params)


KIND = AgentKind(
    make, BCSettings, revision=1, rows="all", needs_rewards=False, schedule=None, discrete=True
)
