"""IQL: implicit Q-learning (Kostrikov et al. 2021), defaults of the official code for MuJoCo."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.implicit import ImplicitSettings, make_implicit


@dataclass(frozen=True)
class IQLSettings(ImplicitSettings):
    """Settings of IQL."""

    reward_scaling: Literal["none", "return_range", "mean"] = "return_range"
    bwd_critic: Literal["sarsa", "iql"] = "sarsa"
    expectile: float = 0.7  # of the value over the data's actions


@functools.lru_cache
def make(settings: IQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""

    def value_loss(difference):
        return losses.expectile_loss(difference, settings.expectile), {}

    def critic_loss(values, target):
        return losses.twin_squared_error(values, target)

    return make_implicit(settings, shapes, value_loss, critic_loss)


KIND = AgentKind(make, IQLSettings, revision=1, rows="bootstrap")
