"""IQL: implicit Q-learning (Kostrikov et al. 2021), defaults of the official code for MuJoCo."""

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
class IQLSettings(implicit.ImplicitSettings):
    """Settings of IQL."""

    reward_scaling: Literal["none", "return_range", "mean"] = "return_range"
    bwd_critic: Literal["sarsa", "iql"] = "sarsa"
    expectile: float = 0.7  # of the value over the data's actions


def value_loss(
    value: nets.Params, batch: Batch, q: jax.Array, settings: IQLSettings
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Expectile regression of Q over the data's actions."""
    difference = q - nets.scalar(value, batch.observations)
    return losses.expectile_loss(difference, settings.expectile), {}


def critic_loss(
    critic: nets.Params, batch: Batch, target: jax.Array, settings: IQLSettings
) -> tuple[jax.Array, None]:
    """Squared error of both critics."""
    values = nets.scalar(critic, batch.observations, batch.actions)
    return losses.twin_squared_error(values, target), None


@functools.lru_cache
def make(settings: IQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""
    return implicit.make_implicit(settings, shapes, value_loss, critic_loss)


KIND = AgentKind(make, IQLSettings, revision=1, rows="bootstrap", schedule="the actor's rate")
