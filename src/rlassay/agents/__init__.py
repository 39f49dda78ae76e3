"""Seven offline agents behind one contract; `train_agent` trains one of them."""

from __future__ import annotations

from rlassay.agents.agent import Agent, AgentKind, Shapes, TrainSettings, ValueSettings
from rlassay.agents.registry import AGENTS, SEVEN, agent_kind, register_agent
from rlassay.agents.training import train_agent
from rlassay.results.run import Evaluation, Run

__all__ = [
    "AGENTS",
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
