"""Discrete CQL (Kumar et al. 2020): double DQN plus the conservative gap over all actions."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.columns import Batch
from rlassay.agents.discrete.actions import taken
from rlassay.agents.discrete.double import DoubleSettings, make_double
from rlassay.kernel import nets


@dataclass(frozen=True)
class CQLSettings(DoubleSettings):
    """Settings of discrete CQL."""

    conservative_weight: float = 1.0
    conservative_temperature: float = 1.0  # of the soft maximum over all actions


def critic_loss(
    critic: nets.Params, batch: Batch, target: jax.Array, settings: CQLSettings
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Huber loss of the taken action's Q, and the conservative gap."""
    every = nets.mlp(critic, batch.observations)
    values = taken(every, batch.actions)
    temperature = settings.conservative_temperature
    gap = losses.conservative_gap(every.T[None], values[None], temperature)
    error = losses.twin_huber(values, target, settings.huber_delta)
    info = {"critic_loss": error, "conservative_gap": gap, "q": values.mean()}
    return error + settings.conservative_weight * gap, info


@functools.lru_cache
def make(settings: CQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return make_double(settings, shapes, critic_loss)


KIND = AgentKind(make, CQLSettings, revision=1, rows="bootstrap", schedule=None, discrete=True)
