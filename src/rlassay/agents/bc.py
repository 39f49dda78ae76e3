"""BC: behavioural cloning with a deterministic policy and the squared error (CORL's `any_percent_bc`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from rlassay.agents.agent import Agent, AgentKind, Shapes, TrainSettings, hidden, make_agent
from rlassay.agents.columns import Batch
from rlassay.agents.learner import Learner, descend, network_rng, new_learner
from rlassay.kernel import nets
from rlassay.settings import added_later, require


@dataclass(frozen=True)
class BCSettings(TrainSettings):
    """Settings of BC."""

    normalise_observations: bool = True
    held_out_share: float = added_later(0.1)  # of the episodes, that judge where no simulator does
    patience: int | None = added_later(5)  # evaluations there without a better one, then it ends

    def __post_init__(self):
        super().__post_init__()
        require(
            0 < self.held_out_share < 1, "held_out_share", "between 0 and 1", self.held_out_share
        )


class BCState(NamedTuple):
    actor: Learner


def actor_loss(actor: nets.Params, batch: Batch) -> tuple[jax.Array, None]:
    """Mean squared error of the action."""
    error = jnp.tanh(nets.mlp(actor, batch.observations)) - batch.actions
    return (error**2).mean(), None


def init(settings: BCSettings, shapes: Shapes, seed: int) -> BCState:
    """A fresh actor."""
    adam, rng = optax.adam(settings.learning_rate), network_rng(seed)
    return BCState(new_learner(adam, nets.init_mlp(rng, hidden(settings, *shapes))))


def step(settings: BCSettings, shapes: Shapes, state: BCState, columns, inputs):
    """One update."""
    adam = optax.adam(settings.learning_rate)
    batch = columns.batch(inputs.rows, shapes)
    actor, loss, _ = descend(adam, state.actor, actor_loss, batch)
    return BCState(actor), {"actor_loss": loss}


@functools.lru_cache
def make(settings: BCSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_agent(settings, shapes, init, step, layers=lambda state: state.actor.params)


KIND = AgentKind(make, BCSettings, revision=1, rows="all", needs_rewards=False, schedule=None)
