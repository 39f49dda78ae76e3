"""The registry of agents: a dictionary, and one way to add to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from rlassay.agents import awac, bc, cql, iql, onestep, td3bc, xql
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.errors import SettingsError

AGENTS: dict[str, AgentKind] = {
    "bc": bc.KIND,
    "awac": awac.KIND,
    "onestep": onestep.KIND,
    "td3bc": td3bc.KIND,
    "cql": cql.KIND,
    "iql": iql.KIND,
    "xql": xql.KIND,
}
SEVEN = tuple(AGENTS)  # those of the paper's oracle


def agent_kind(name: str) -> AgentKind:
    """The registry's entry of this name."""
    if name not in AGENTS:
        raise SettingsError("unknown agent", allowed=list(AGENTS), got=name)
    return AGENTS[name]


def register_agent(
    name: str,
    make: Callable[[Any, Shapes], Agent],
    settings: type,
    *,
    revision: int,
    rows: Literal["all", "bootstrap", "sarsa"] = "bootstrap",
    needs_rewards: bool = True,
    schedule: str | None = "its schedule",
) -> None:
    """Add an agent: `rlassay train NAME` and the oracle then know it. A taken name is refused.

    `schedule` says what of it depends on the number of updates; with None a finished run can be prolonged.
    """
    if name in AGENTS and AGENTS[name].make is not make:
        raise SettingsError("this agent name is taken", got=name, remedy="choose another")
    AGENTS[name] = AgentKind(make, settings, revision, rows, needs_rewards, schedule)
