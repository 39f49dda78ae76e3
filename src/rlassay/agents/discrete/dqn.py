"""Offline DQN (Mnih et al. 2015) with the double target (van Hasselt et al. 2016): no defence against unseen actions."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.discrete.actions import taken
from rlassay.agents.discrete.double import DoubleSettings, make_double
from rlassay.kernel import nets


@dataclass(frozen=True)
class DQNSettings(DoubleSettings):
    """Settings of DQN."""


def critic_loss(
    critic: nets.Params, batch: Any, target: jax.Array, settings: Any
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Huber loss of the taken action's Q; online DQN has the same."""
    values = taken(nets.mlp(critic, batch.observations), batch.actions)
    error = losses.twin_huber(values, target, settings.huber_delta)
    return error, {"critic_loss": error, "q": values.mean()}


@functools.lru_cache
def make(settings: DQNSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_double(settings, shapes, critic_loss)


KIND = AgentKind(make, DQNSettings, revision=1, rows="bootstrap", schedule=None, discrete=True)
