"""Is the oracle long enough? Its order of datasets at half and at full budget, cells that still move, D4RL's known pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rlassay.stats import correlations
from rlassay.study.analysis.correlate import complete_runs, mean_over_agents, runs_by_dataset
from rlassay.study.analysis.rest import settled_runs
from rlassay.study.grid.files import Row

MOVED = 10.0  # normalised points a run might change in its second half by the first rule 3
COMPARED = ("bc", "iql", "td3bc")  # in D4RL's pattern
LEARNT = 0.5  # of BC's score on `expert`; an agent below it in every environment does not learn in this budget


def half_rows(runs: Sequence[Row], agents: Sequence[str], curves: Sequence[Row] = ()) -> list[Row]:
    """How well the datasets' order at half of the budget agrees with the final one, per environment: the mean of all
    agents and each agent alone, over the datasets that every agent has run on; and how many runs came to rest."""
    complete = complete_runs(runs, agents)
    rows = []
    for environment in dict.fromkeys(key[0] for key in complete):
        keys = [key for key in complete if key[0] == environment]
        if len(keys) < 3:
            continue
        for name, chosen in (("all agents", agents), *((agent, [agent]) for agent in agents)):
            found = [complete[key] for key in keys]
            row: Row = {"environment": environment, "agents": name, "datasets": len(keys)}
            mine = [run for cell in found for run in cell if run["agent"] in chosen]
            rows.append(row | _half_and_full(found, chosen) | _rest_counts(mine, curves))
    return rows


def _half_and_full(cells: Sequence[Sequence[Row]], agents: Sequence[str]) -> Row:
    """Agreement of the mean over agents at half and at full budget, and how far it moved."""
    half, full = (
        np.array([mean_over_agents(cell, agents, column) for cell in cells])
        for column in ("half_score", "score")
    )
    row: Row = {
        kind: _number(correlations(half[None], full[None], kind)[0])
        for kind in ("spearman", "pearson")
    }
    return row | {"mean_change": _number(float(np.mean(full - half)))}


def _rest_counts(runs: Sequence[Row], curves: Sequence[Row]) -> Row:
    settled = settled_runs(runs, curves)
    counted = {"settled": "yes", "moving": "no", "not_known": "not known"}
    row: Row = {name: settled.count(answer) for name, answer in counted.items()}
    return row | {"moved_after_half": sum(moved_after_half(run) for run in runs)}


def moved_after_half(run: Row) -> bool:
    """The first rule 3: a run that diverged, or whose score changed by more than `MOVED` in its second half.

    OnestepRL only clones until 80 % of its updates, so this rule drops it where its policy phase improves anything: it
    selects on the outcome. Kept to show what the panel made with it was.
    """
    if run.get("diverged_at") is not None:
        return True
    return run["half_score"] is None or abs(run["score"] - run["half_score"]) > MOVED


Keep = Callable[[Sequence[Row]], Sequence[bool]]  # which of the runs count


def oracle_of(
    runs: Sequence[Row], agents: Sequence[str], keep: Keep
) -> dict[tuple[str, str], float]:
    """The oracle from some of the runs alone, on datasets every agent has run on; none left: no oracle."""
    kept = {
        key: [run for run, stays in zip(found, keep(found), strict=True) if stays]
        for key, found in complete_runs(runs, agents).items()
    }
    return {key: mean_over_agents(found, agents) for key, found in kept.items() if found}


def settled_oracle(
    runs: Sequence[Row], curves: Sequence[Row], agents: Sequence[str]
) -> dict[tuple[str, str], float]:
    """The oracle from the runs that are known to have come to rest."""
    return oracle_of(runs, agents, lambda f: [s == "yes" for s in settled_runs(f, curves)])


def oracle_by_first_rule(
    runs: Sequence[Row], agents: Sequence[str]
) -> dict[tuple[str, str], float]:
    """The oracle from the runs that the first rule 3 called settled."""
    return oracle_of(runs, agents, lambda found: [not moved_after_half(run) for run in found])


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
