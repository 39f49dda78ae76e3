"""XQL: extreme Q-learning (Garg et al. 2023), defaults of the official code's consistent setting (XQL-C)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

from rlassay.agents import losses
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.implicit import ImplicitSettings, make_implicit


@dataclass(frozen=True)
class XQLSettings(ImplicitSettings):
    """Settings of XQL."""

    reward_scaling: Literal["none", "return_range", "mean"] = "return_range"
    bwd_critic: Literal["sarsa", "xql"] = "sarsa"
    gumbel_temperature: float = 2.0  # of the value over the data's actions
    gumbel_clip: float = 7.0  # largest (Q - V) / temperature
    huber_delta: float = 20.0  # where the critic's loss becomes linear


@functools.lru_cache
def make(settings: XQLSettings, shapes: Shapes) -> Agent:
    """The agent for these settings."""

    def value_loss(difference):
        temperature, clip = settings.gumbel_temperature, settings.gumbel_clip
        loss, clipped = losses.gumbel_loss(difference, temperature, clip)
        return loss, {"clipped": clipped}

    def critic_loss(values, target):
        return losses.twin_huber(values, target, settings.huber_delta)

    return make_implicit(settings, shapes, value_loss, critic_loss, value_layer_norm=True)


KIND = AgentKind(make, XQLSettings, revision=1, rows="bootstrap")
