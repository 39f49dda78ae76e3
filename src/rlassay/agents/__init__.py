"""Offline agents behind one contract, seven of continuous and six of discrete actions; `train_agent` trains one."""

from __future__ import annotations

from rlassay.agents.agent import Agent, AgentKind, Shapes, TrainSettings, ValueSettings
from rlassay.agents.registry import AGENTS, DISCRETE_AGENTS, SEVEN, agent_kind, register_agent
from rlassay.agents.training import train_agent
from rlassay.results.run import Evaluation, Run

__all__ = [
    "AGENTS",
    "DISCRETE_AGENTS",
    "SEVEN",
    "Agent",
    "AgentKind",
    "Evaluation",
    "Run",
    "Shapes",
    "TrainSettings",
    "ValueSettings",
    "agent_kind",
    "register_agent",
    "train_agent",
]
