"""XQL: extreme Q-learning (Garg et al. 2023), defaults of the official code's consistent setting (XQL-C)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import jax

from rlassay.agents import implicit, losses
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.columns import Batch
from rlassay.kernel import nets


@dataclass(frozen=True)
class XQLSettings(implicit.ImplicitSettings):
    """Settings of XQL."""

    reward_scaling: Literal["none", "return_range", "mean"] = "return_range"
    bwd_critic: Literal["sarsa", "xql"] = "sarsa"
    gumbel_temperature: float = 2.0  # of the value over the data's actions
    gumbel_clip: float = 7.0  # largest (Q - V) / temperature
    huber_delta: float = 20.0  # where the critic's loss becomes linear


def value_loss(
    value: nets.Params, batch: Batch, q: jax.Array, settings: XQLSettings
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Gumbel regression of Q over the data's actions."""
    difference = q - nets.scalar(value, batch.observations)
    temperature, clip = settings.gumbel_temperature, settings.gumbel_clip
    loss, clipped = losses.gumbel_loss(difference, temperature, clip)
    return loss, {"clipped": clipped}


def critic_loss(
    critic: nets.Params, batch: Batch, target: jax.Array, settings: XQLSettings
) -> tuple[jax.Array, None]:
    """Huber loss of both critics."""
    values = nets.scalar(critic, batch.observations, batch.actions)
    return losses.twin_huber(values, target, settings.huber_delta), None


@functools.lru_cache
def make(settings: XQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return implicit.make_implicit(settings, shapes, value_loss, critic_loss, value_layer_norm=True)


KIND = AgentKind(make, XQLSettings, revision=1, rows="bootstrap", schedule="the actor's rate")
