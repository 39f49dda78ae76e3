"""Is the oracle long enough? Its order of datasets at half and at full budget, cells that still move, D4RL's known pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rlassay.stats import correlations
from rlassay.study.files import Row

SETTLED = 10.0  # normalised points a run may change in the second half of its budget and still count as settled
Key = tuple[str, str]


def half_rows(runs: Sequence[Row], agents: Sequence[str]) -> list[Row]:
    """How well the datasets' order at half of the budget agrees with the final one, per environment: the mean of all
    agents and each agent alone, over the datasets that every agent has run on."""
    complete = _complete(runs, agents)
    rows = []
    for environment in dict.fromkeys(key[0] for key in complete):
        keys = [key for key in complete if key[0] == environment]
        if len(keys) < 3:
            continue
        for name, chosen in (("all agents", agents), *((agent, [agent]) for agent in agents)):
            half, full = (
                np.array([_mean(complete[key], chosen, column) for key in keys])
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


def settled_oracle(runs: Sequence[Row], agents: Sequence[str]) -> dict[Key, float]:
    """The oracle from settled runs alone, on datasets every agent has run on; none left: no oracle."""
    kept = {
        key: [run for run in found if not is_unsettled(run)]
        for key, found in _complete(runs, agents).items()
    }
    return {key: _mean(found, agents, "score") for key, found in kept.items() if found}


def pattern_rows(runs: Sequence[Row]) -> list[Row]:
    """D4RL's known pattern: on medium-expert, IQL and TD3+BC come near the best single policy's data, BC does not."""
    cells: dict[Key, dict[str, list[float]]] = {}
    for run in runs:
        if run["score"] is not None:
            per_agent = cells.setdefault((run["environment"], run["dataset"]), {})
            per_agent.setdefault(run["agent"], []).append(run["score"])
    rows = []
    for (environment, dataset), found in cells.items():
        if dataset == "medium-expert" and {"bc", "iql", "td3bc"} <= set(found):
            expert = cells.get((environment, "expert"), {}).get("bc")
            row: Row = {"environment": environment}
            row |= {agent: float(np.mean(found[agent])) for agent in ("bc", "iql", "td3bc")}
            row["bc_on_expert"] = float(np.mean(expert)) if expert else None
            row["as_in_d4rl"] = "yes" if min(row["iql"], row["td3bc"]) > row["bc"] else "no"
            rows.append(row)
    return rows


def _complete(runs: Iterable[Row], agents: Sequence[str]) -> dict[Key, list[Row]]:
    """Finished runs by dataset, of the datasets every agent has run on."""
    cells: dict[Key, list[Row]] = {}
    for run in runs:
        if run["score"] is not None and run["agent"] in agents:
            cells.setdefault((run["environment"], run["dataset"]), []).append(run)
    wanted = set(agents)
    return {key: found for key, found in cells.items() if {r["agent"] for r in found} == wanted}


def _mean(runs: Sequence[Mapping], agents: Sequence[str], column: str) -> float:
    """Mean over agents of the mean over seeds."""
    by_agent = [
        [run[column] for run in runs if run["agent"] == agent and run[column] is not None]
        for agent in agents
    ]
    known = [np.mean(values) for values in by_agent if values]
    return float(np.mean(known)) if known else np.nan


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
