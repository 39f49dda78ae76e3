"""The registry of agents: a dictionary for each kind of actions, and one way to add to them.

A name stands for the same idea in both; the data's actions say which of the two is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from rlassay.agents import awac, bc, cql, iql, onestep, td3bc, xql
from rlassay.agents.agent import Agent, AgentKind, Shapes
from rlassay.agents.discrete import awac as discrete_awac
from rlassay.agents.discrete import bc as discrete_bc
from rlassay.agents.discrete import cql as discrete_cql
from rlassay.agents.discrete import dqn
from rlassay.agents.discrete import iql as discrete_iql
from rlassay.agents.discrete import onestep as discrete_onestep
from rlassay.errors import SettingsError
from rlassay.words import suggest

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
DISCRETE_AGENTS: dict[str, AgentKind] = {
    "bc": discrete_bc.KIND,
    "iql": discrete_iql.KIND,
    "cql": discrete_cql.KIND,
    "dqn": dqn.KIND,
    "awac": discrete_awac.KIND,
    "onestep": discrete_onestep.KIND,
}
BUILT_IN = {*AGENTS, *DISCRETE_AGENTS}


def agents_for(discrete: bool) -> dict[str, AgentKind]:
    """The agents of discrete, or of continuous actions."""
    return DISCRETE_AGENTS if discrete else AGENTS


def agent_kind(name: str, discrete: bool = False) -> AgentKind:
    """The registry's entry of this name for discrete, or for continuous actions."""
    known = agents_for(discrete)
    if name in known:
        return known[name]
    if name in agents_for(not discrete):
        kinds = ("discrete", "continuous") if discrete else ("continuous", "discrete")
        raise SettingsError(
            f"the data has {kinds[0]} actions and {name} is for {kinds[1]} ones",
            allowed=list(known),
            got=name,
        )
    allowed = list({**known, **agents_for(not discrete)})
    raise SettingsError(f"unknown agent{suggest(name, allowed)}", allowed=allowed, got=name)


def refuse_unknown(name: str) -> None:
    """Refuse a name that stands for no agent, before the data is read."""
    agent_kind(name, discrete=name in DISCRETE_AGENTS)


def register_agent(
    name: str,
    make: Callable[[Any, Shapes], Agent],
    settings: type,
    *,
    revision: int,
    rows: Literal["all", "bootstrap", "sarsa"] = "bootstrap",
    needs_rewards: bool = True,
    schedule: str | None = "its schedule",
    discrete: bool = False,
) -> None:
    """Add an agent: `rlassay train NAME` and the oracle then know it. A taken name is refused.

    `schedule` says what of it depends on the number of updates; with None a finished run can be prolonged. `discrete`
    adds it for discrete actions: `shapes.action_dim` is then how many there are, and the largest output is chosen.
    """
    known = agents_for(discrete)
    if name in known and known[name].make is not make:
        raise SettingsError("this agent name is taken", got=name, remedy="choose another")
    known[name] = AgentKind(make, settings, revision, rows, needs_rewards, schedule, discrete)
