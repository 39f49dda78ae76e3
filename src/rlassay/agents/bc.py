"""BC: behavioural cloning with a deterministic policy and the squared error (CORL's `any_percent_bc`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.agent import (
    NETWORK_STREAM,
    Agent,
    AgentKind,
    Shapes,
    TrainSettings,
    hidden,
    tanh_act,
)
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.kernel import nets


@dataclass(frozen=True)
class BCSettings(TrainSettings):
    """Settings of BC."""

    normalise_observations: bool = True


class BCState(NamedTuple):
    actor: Learner


@functools.lru_cache
def make(settings: BCSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    adam = optax.adam(settings.learning_rate)

    def init(seed: int) -> BCState:
        rng = np.random.default_rng([seed, NETWORK_STREAM])
        return BCState(new_learner(adam, nets.init_mlp(rng, hidden(settings, *shapes))))

    def actor_loss(actor, batch) -> tuple[jax.Array, None]:
        error = jnp.tanh(nets.mlp(actor, batch.observations)) - batch.actions
        return (error**2).mean(), None

    def step(state: BCState, columns, inputs):
        batch = columns.batch(inputs.rows, shapes)
        actor, loss, _ = descend(adam, state.actor, actor_loss, batch)
        return BCState(actor), {"actor_loss": loss}

    def layers(state: BCState) -> nets.Params:
        return state.actor.params

    return Agent(init, step, tanh_act(layers), layers)


KIND = AgentKind(make, BCSettings, revision=1, rows="all", needs_rewards=False)
