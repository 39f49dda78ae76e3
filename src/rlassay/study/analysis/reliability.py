"""The noise ceiling: how far the oracle agrees with itself, which no score can be seen to surpass (rule 6 in docs/long-oracle.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from rlassay.stats import correlation
from rlassay.study.analysis.correlate import (
    POOLED,
    Points,
    complete_runs,
    mean_over_agents,
    min_max,
    scopes_of,
)
from rlassay.study.grid.files import Row


def reliability_over_agents(reached: np.ndarray, environments: np.ndarray | None = None) -> float:
    """Mean correlation of two halves of the agents over all splits, stepped up to the whole.

    `reached` is (agents, datasets). With `environments` both halves are min-max scaled within them, as Figure 2 does.
    """
    count = len(reached)
    found = []
    for half in itertools.combinations(range(count), count // 2):
        if count % 2 == 0 and 0 not in half:
            continue  # the other half of a split that was seen
        rest = [agent for agent in range(count) if agent not in half]
        halves = [reached[list(part)].mean(axis=0) for part in (half, rest)]
        if environments is not None:
            halves = [min_max(values, environments) for values in halves]
        found.append(correlation(*halves))
    return stepped_up(float(np.mean(found)), (count // 2) / count)


def reliability_over_seeds(runs: Sequence[Row], agents: Sequence[str]) -> tuple[float, int] | None:
    """The same between two seeds of every agent, and over how many datasets; none where fewer than three have both."""
    cells: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for run in runs:
        if run["score"] is not None:
            cell = cells.setdefault((run["environment"], run["dataset"]), {})
            cell[run["agent"], int(run["seed"])] = run["score"]
    both = [
        cell
        for cell in cells.values()
        if all((agent, seed) in cell for agent in agents for seed in (0, 1))
    ]
    if len(both) < 3:
        return None
    means = [[np.mean([cell[agent, seed] for agent in agents]) for cell in both] for seed in (0, 1)]
    return stepped_up(correlation(np.array(means[0]), np.array(means[1]))), len(both)


def stepped_up(correlation: float, share: float = 0.5) -> float:
    """The reliability of the whole from the correlation of its two parts.

    Spearman and Brown for halves, Horst's formula where the parts are not equal (three and four of seven agents).
    """
    if correlation >= 1:
        return 1.0
    size, left = share * (1 - share), 1 - correlation**2
    return (
        correlation * (np.sqrt(correlation**2 + 4 * size * left) - correlation) / (2 * size * left)
    )


def ceiling(reliability: float) -> float | None:
    """The largest correlation that can be expected to be seen; none where the oracle contradicts itself."""
    return float(np.sqrt(reliability)) if reliability > 0 else None


def ceiling_row(panel: str, halves: str, n: int, reliability: float) -> Row:
    """One row of a table of ceilings."""
    found = {"reliability": reliability, "ceiling": ceiling(reliability)}
    return {"panel": panel, "halves": halves, "n": n, **found}


def correlation_ceilings(
    points: Points, runs: Sequence[Row], agents: Sequence[str], panel: str
) -> list[Row]:
    """Beside the correlations of a panel: the ceiling within every environment and pooled, scaled as they are."""
    reached = reached_by(agents, runs, zip(points.environments, points.datasets, strict=True))
    rows = []
    for scope, inside, _ in scopes_of(points):
        scaling = points.environments[inside] if scope == POOLED else None
        found = reliability_over_agents(reached[:, inside], scaling)
        row = {"panel": panel, "scope": scope, "n": int(inside.sum()), "agents": len(agents)}
        rows.append({**row, "reliability": found, "ceiling": ceiling(found)})
    return rows


def reached_by(
    agents: Sequence[str], runs: Sequence[Row], keys: Iterable[tuple[str, str]]
) -> np.ndarray:
    """Mean over seeds of what every agent reached, (agents, datasets)."""
    complete = complete_runs(runs, agents)
    cells = [complete[str(environment), str(dataset)] for environment, dataset in keys]
    return np.array([[mean_over_agents(cell, [agent]) for cell in cells] for agent in agents])
