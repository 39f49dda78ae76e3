"""Is the oracle long enough? Its order of datasets at half and at full budget, cells that still move, D4RL's known pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlassay.stats import correlations
from rlassay.study.analysis.correlate import complete_runs, mean_over_agents, runs_by_dataset
from rlassay.study.grid.files import Row

SETTLED = 10.0  # normalised points a run may change in the second half of its budget and still count as settled
COMPARED = ("bc", "iql", "td3bc")  # in D4RL's pattern
LEARNT = 0.5  # of BC's score on `expert`; an agent below it in every environment does not learn in this budget


def half_rows(runs: Sequence[Row], agents: Sequence[str]) -> list[Row]:
    """How well the datasets' order at half of the budget agrees with the final one, per environment: the mean of all
    agents and each agent alone, over the datasets that every agent has run on."""
    complete = complete_runs(runs, agents)
    rows = []
    for environment in dict.fromkeys(key[0] for key in complete):
        keys = [key for key in complete if key[0] == environment]
        if len(keys) < 3:
            continue
        for name, chosen in (("all agents", agents), *((agent, [agent]) for agent in agents)):
            half, full = (
                np.array([mean_over_agents(complete[key], chosen, column) for key in keys])
                for column in ("half_score", "score")
            )
            row: Row = {"environment": environment, "agents": name, "datasets": len(keys)}
            for kind in ("spearman", "pearson"):
                row[kind] = _number(correlations(half[None], full[None], kind)[0])
            moved = [run for key in keys for run in complete[key] if run["agent"] in chosen]
            row["unsettled"] = sum(is_unsettled(run) for run in moved)
            rows.append(row | {"mean_change": _number(float(np.mean(full - half)))})
    return rows


def is_unsettled(run: Row) -> bool:
    """A run that diverged, or whose score still changed by more than `SETTLED` in its second half."""
    if run.get("diverged_at") is not None:
        return True
    return run["half_score"] is None or abs(run["score"] - run["half_score"]) > SETTLED


def settled_oracle(runs: Sequence[Row], agents: Sequence[str]) -> dict[tuple[str, str], float]:
    """The oracle from settled runs alone, on datasets every agent has run on; none left: no oracle."""
    kept = {
        key: [run for run in found if not is_unsettled(run)]
        for key, found in complete_runs(runs, agents).items()
    }
    return {key: mean_over_agents(found, agents) for key, found in kept.items() if found}


def pattern_rows(runs: Sequence[Row]) -> list[Row]:
    """D4RL's known pattern: on medium-expert, IQL and TD3+BC come near the best single policy's data, BC does not."""
    found, rows = runs_by_dataset(runs), []
    for (environment, dataset), mixed in found.items():
        if dataset == "medium-expert" and set(COMPARED) <= {run["agent"] for run in mixed}:
            row: Row = {"environment": environment}
            row |= {agent: mean_over_agents(mixed, [agent]) for agent in COMPARED}
            expert = mean_over_agents(found.get((environment, "expert"), []), ["bc"])
            row["bc_on_expert"] = _number(expert)
            row["as_in_d4rl"] = "yes" if min(row["iql"], row["td3bc"]) > row["bc"] else "no"
            rows.append(row)
    return rows


def expert_rows(runs: Sequence[Row], agents: Sequence[str]) -> list[Row]:
    """Every agent's score on `expert` data as a share of BC's, the one number that asks for no improvement at all."""
    rows: list[Row] = []
    for (environment, dataset), found in runs_by_dataset(runs).items():
        cloned = mean_over_agents(found, ["bc"])
        if dataset == "expert" and cloned > 0:
            row: Row = {"environment": environment, "bc_score": cloned}
            shares = {agent: mean_over_agents(found, [agent]) / cloned for agent in agents}
            rows.append(row | {agent: _number(share) for agent, share in shares.items()})
    return rows


def learning_agents(runs: Sequence[Row], agents: Sequence[str]) -> list[str]:
    """Agents that reach `LEARNT` of BC's score on `expert` data somewhere; unknown ones count as learning."""
    rows = expert_rows(runs, agents)
    shares = {agent: [row[agent] for row in rows if row[agent] is not None] for agent in agents}
    return [agent for agent in agents if not shares[agent] or max(shares[agent]) >= LEARNT]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
