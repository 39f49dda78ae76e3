"""Profiles of the oracle: which agents with which settings, from what two cores can do to the published budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlassay.agents.registry import SEVEN, agent_kind
from rlassay.agents.training import make_settings
from rlassay.errors import SettingsError
from rlassay.settings import allowed_keys

# Profile -> agent or "*" -> changed settings. `lite` is what two cores can do: narrower networks, learning and target rates
# that reach in 48,000 updates what the published ones reach in several hundred thousand, and one scale of rewards and
# of advantages for the agents that depend on it (docs/oracle.md says what was tried).
LITE: dict[str, dict[str, Any]] = {
    "*": {
        "updates": 48_000,
        "width": 128,
        "batch_size": 256,
        "learning_rate": 1e-3,
        "target_rate": 0.02,
        "eval_every": 12_000,  # the second of four is at half of the budget
    },
    "iql": {"reward_scaling": "mean"},
    "xql": {"reward_scaling": "mean"},
    "awac": {"reward_scaling": "mean", "temperature": 1 / 3, "actor_depth": 2},
    "onestep": {"reward_scaling": "mean", "inverse_temperature": 3.0},
    "cql": {
        "reward_scaling": "mean",
        "batch_size": 128,
        "depth": 2,
        "action_samples": 4,
        "actor_learning_rate": 3e-4,
    },
}
# The same sizes for discrete actions; the scale of rewards is theirs where it decides weights or the conservative gap.
DISCRETE_LITE: dict[str, dict[str, Any]] = {
    "*": LITE["*"],
    "iql": {"reward_scaling": "mean", "inverse_temperature": 3.0},
    "cql": {"reward_scaling": "mean"},
    "dqn": {"reward_scaling": "mean"},
    "awac": {"reward_scaling": "mean", "temperature": 1 / 3, "actor_depth": 2},
    "onestep": {"reward_scaling": "mean", "inverse_temperature": 3.0},
}
# `long` is `lite` until it has come to rest: three times the updates, and the mean of three evaluations at the end.
LONGER = LITE["*"] | {
    "updates": 150_000,
    "eval_every": 10_000,
    "eval_episodes": 10,
    "final_evaluations": 3,
    "final_eval_episodes": 20,
}
LONG = LITE | {"*": LONGER}
PROFILES: dict[str, dict[str, dict[str, Any]]] = {"paper": {}, "lite": LITE, "long": LONG}
DISCRETE_PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {},
    "lite": DISCRETE_LITE,
    "long": DISCRETE_LITE | {"*": LONGER},
}
LONG_AGENTS = ("bc", "td3bc", "iql", "xql", "awac", "onestep")  # without CQL, which does not learn
FOUR = ("bc", "iql", "cql", "dqn")  # of discrete actions


def agents_of(profile: str, discrete: bool = False) -> tuple[str, ...]:
    """The agents a profile trains unless others are named."""
    if discrete:
        return FOUR
    return LONG_AGENTS if profile == "long" else SEVEN


def settings_of(
    agents: Sequence[str], profile: str, changes: Mapping[str, Any], discrete: bool = False
) -> dict[str, Any]:
    """Settings of every agent: its defaults, then the profile, then the changes."""
    if profile not in PROFILES:
        raise SettingsError("unknown profile", allowed=list(PROFILES), got=profile)
    used: set[str] = set()
    table = (DISCRETE_PROFILES if discrete else PROFILES)[profile]
    chosen = {agent: _settings_of_one(agent, discrete, table, changes, used) for agent in agents}
    if unused := set(changes) - used:
        known = sorted({key for settings in chosen.values() for key in allowed_keys(settings)})
        raise SettingsError(
            "a setting belongs to none of the agents", allowed=known, got=sorted(unused)
        )
    return chosen


def _settings_of_one(
    agent: str, discrete: bool, profile: Mapping, changes: Mapping[str, Any], used: set[str]
) -> Any:
    known = set(allowed_keys(agent_kind(agent, discrete).settings()))
    merged = {**profile.get("*", {}), **profile.get(agent, {})}
    for key, value in changes.items():
        owner, _, name = key.rpartition(".")
        if owner in ("", agent) and name in known:
            merged[name] = value
            used.add(key)
    return make_settings(agent, {name: v for name, v in merged.items() if name in known}, discrete)
