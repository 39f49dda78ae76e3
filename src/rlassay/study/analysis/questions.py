"""Which score tells what agents reach? Correlations on D4RL's scale with intervals over clusters of datasets.

Scores and oracle share that scale: a return is its normalised score, a value the `relative` of its card. Datasets that
share policies are resampled together; the rules were written before any run (docs/long-oracle.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlassay.stats import Estimate, estimate, resampled_indices
from rlassay.study.analysis.correlate import complete_runs
from rlassay.study.grid.files import Row

REPLICATES = 2_000
BASE = "return"
FORECASTS = ("return", "return_by_step", "q", "bwd.exact")
RETURNS = ("return", "return_by_step", "return_top10")
# Mixtures of the first training run, of the second, of both; then single policies of one run and of both.
CLUSTERS = {
    **dict.fromkeys(("medium-replay", "medium-expert", "run-mix"), "first run"),
    **dict.fromkeys(("fresh-replay", "fresh-expert-mix", "fresh-run-mix"), "second run"),
    **dict.fromkeys(("level-1000k", "seed-mix", "fresh-seed-mix"), "both runs"),
    **dict.fromkeys(("random", "medium", "expert"), "one policy"),
    **dict.fromkeys(("level-50k", "level-200k"), "one policy a run"),
}


@dataclass(frozen=True)
class Grid:
    """Datasets with a complete oracle: arrays over datasets, on D4RL's scale."""

    environments: np.ndarray
    datasets: np.ndarray
    scores: Mapping[str, np.ndarray]
    agents: Mapping[str, np.ndarray]  # what each agent reached, the mean over its seeds

    def restrict(self, keep: np.ndarray) -> Grid:
        def part(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: values[keep] for name, values in columns.items()}

        return Grid(
            self.environments[keep], self.datasets[keep], part(self.scores), part(self.agents)
        )

    @property
    def reached(self) -> np.ndarray:
        """What the agents reached, (agents, datasets)."""
        return np.array(list(self.agents.values()))

    @property
    def clusters(self) -> np.ndarray:
        """The cluster of every dataset, apart by environments."""
        pairs = zip(self.environments, self.datasets, strict=True)
        return np.array([f"{environment}: {CLUSTERS[dataset]}" for environment, dataset in pairs])


def make_grid(
    scores: Mapping[tuple[str, str], Mapping[str, float]],
    runs: Sequence[Row],
    agents: Sequence[str],
) -> Grid:
    """Datasets that have every agent and every score; `scores` are on D4RL's scale already."""
    reached: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, group in complete_runs(runs, agents).items():
        cell = reached.setdefault(key, {})
        for run in group:
            cell.setdefault(run["agent"], []).append(run["score"])
    keys = [key for key in reached if key in scores]
    names = (
        [name for name in scores[keys[0]] if all(name in scores[key] for key in keys)]
        if keys
        else []
    )
    return Grid(
        np.array([key[0] for key in keys]),
        np.array([key[1] for key in keys]),
        {name: np.array([scores[key][name] for key in keys]) for name in names},
        {agent: np.array([np.mean(reached[key][agent]) for key in keys]) for agent in agents},
    )


def targets(grid: Grid) -> dict[str, np.ndarray]:
    """What a score may be asked to tell: the oracle first."""
    every = grid.reached
    by_value = [values for agent, values in grid.agents.items() if agent != "bc"]
    return {
        "mean of agents": every.mean(axis=0),
        "best agent": every.max(axis=0),
        "bc": grid.agents["bc"],
        "value-based agents": np.mean(by_value, axis=0),
    }


# -- resampling --------------------------------------------------------------------------------------------------------


def cluster_weights(environments: np.ndarray, clusters: np.ndarray, seed: int = 0) -> np.ndarray:
    """How often each dataset is drawn, (replicates, datasets): whole clusters, as many as an environment has."""
    rng = np.random.default_rng([seed, 204])
    weights = np.zeros((REPLICATES, len(clusters)))
    for environment in np.unique(environments):
        names = np.unique(clusters[environments == environment])
        drawn = rng.integers(0, len(names), (REPLICATES, len(names)))
        for k, name in enumerate(names):
            weights[:, clusters == name] = (drawn == k).sum(axis=1)[:, None]
    return weights


def dataset_weights(environments: np.ndarray, seed: int = 0) -> np.ndarray:
    """How often each dataset is drawn when they are resampled one by one within environments: Figure 2's resamples."""
    drawn = resampled_indices(len(environments), environments, REPLICATES, seed)
    return np.stack([np.bincount(row, minlength=len(environments)) for row in drawn]).astype(float)


def with_whole(weights: np.ndarray) -> np.ndarray:
    """The data as they are, as the first row before the resamples."""
    return np.concatenate([np.ones((1, weights.shape[1])), weights])


def pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted correlation, row by row of the weights (replicates, n); x and y are (n,) or (replicates, n)."""
    total = weights.sum(axis=-1, keepdims=True)
    x, y = (np.broadcast_to(values, weights.shape) for values in (x, y))
    x = x - (weights * x).sum(axis=-1, keepdims=True) / total
    y = y - (weights * y).sum(axis=-1, keepdims=True) / total
    size = np.sqrt((weights * x**2).sum(axis=-1) * (weights * y**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 0, (weights * x * y).sum(axis=-1) / size, np.nan)


def min_max_within(values: np.ndarray, environments: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scaled to 0..1 within each environment by what each resample holds, (replicates, n)."""
    scaled = np.zeros(weights.shape)
    for environment in np.unique(environments):
        inside = environments == environment
        drawn = weights[:, inside] > 0
        low = np.where(drawn, values[inside], np.inf).min(axis=1, keepdims=True)
        high = np.where(drawn, values[inside], -np.inf).max(axis=1, keepdims=True)
        width = np.where(high > low, high - low, 1.0)
        scaled[:, inside] = (values[inside] - low) / width
    return scaled


Scaling = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
SCALINGS: dict[str, Scaling] = {
    "D4RL's scale": lambda values, environments, weights: np.broadcast_to(values, weights.shape),
    "min-max within resamples": min_max_within,
}


# -- answers -----------------------------------------------------------------------------------------------------------


def question_rows(grid: Grid, panel: str) -> list[Row]:
    """Every score against every target and scaling: its correlation, and the paired difference to the mean return."""
    weights = with_whole(cluster_weights(grid.environments, grid.clusters))
    rows = []
    for scaling, scale in SCALINGS.items():
        scaled = {name: scale(x, grid.environments, weights) for name, x in grid.scores.items()}
        for target, reached in targets(grid).items():
            y = scale(reached, grid.environments, weights)
            drawn = {name: pearson(x, y, weights) for name, x in scaled.items()}
            for name, values in drawn.items():
                row: Row = {
                    "panel": panel,
                    "scaling": scaling,
                    "target": target,
                    "score_name": name,
                }
                row |= columns_with_interval("", values) | {"n": len(grid.datasets)}
                rows.append(row | columns_with_interval(f"minus_{BASE}_", values - drawn[BASE]))
    return rows


def columns_with_interval(prefix: str, values: np.ndarray) -> Row:
    """The first entry with the percentile interval of the others."""
    found: Estimate = estimate(float(values[0]), values[1:], len(values) - 1)
    low, high = found.interval or (None, None)
    value = found.value if np.isfinite(found.value) else None
    return {f"{prefix}value": value, f"{prefix}low": low, f"{prefix}high": high}


def jackknife_rows(grid: Grid, panel: str) -> list[Row]:
    """The primary comparison with one environment left out each time."""
    rows = []
    for left_out in np.unique(grid.environments):
        part = grid.restrict(grid.environments != left_out)
        y, ones = targets(part)["mean of agents"], np.ones((1, len(part.datasets)))
        row: Row = {"panel": panel, "left_out": str(left_out), "n": len(part.datasets)}
        for name in FORECASTS:
            if name in part.scores:
                row[name] = float(pearson(part.scores[name], y, ones)[0])
        rows.append(row)
    return rows


def forecast_rows(grid: Grid, panel: str) -> list[Row]:
    """Root mean squared error, in points, of the number itself taken as the forecast."""
    rows = []
    for target, reached in targets(grid).items():
        row: Row = {"panel": panel, "target": target, "n": len(reached)}
        for name in FORECASTS:
            if name in grid.scores:
                row[name] = float(np.sqrt(np.mean((grid.scores[name] - reached) ** 2)))
        rows.append(row)
    return rows


Curves = Mapping[
    tuple[str, str, str], Mapping[float, float]
]  # environment, dataset, agent: updates, score


def reached_along(
    grid: Grid, curves: Curves, enters: Mapping[str, float]
) -> dict[float, dict[str, np.ndarray]]:
    """What every agent has reached on the datasets of the grid after so many updates, where all of them are known."""
    keys = list(zip(grid.environments, grid.datasets, strict=True))
    found = {}
    for updates in sorted({updates for curve in curves.values() for updates in curve}):
        agents = [agent for agent in grid.agents if updates > enters.get(agent, 0)]
        cells = [[curves.get((*key, agent), {}).get(updates) for key in keys] for agent in agents]
        if not any(value is None for cell in cells for value in cell):
            found[updates] = dict(zip(agents, np.array(cells, float), strict=True))
    return found


def returns_of(grid: Grid) -> list[str]:
    """The returns among its scores."""
    return [name for name in RETURNS if name in grid.scores]


def growth_rows(grid: Grid, curves: Curves, enters: Mapping[str, float]) -> list[Row]:
    """Along the training: the mean of clones and of value-based agents, and which return each of them follows."""
    once = np.ones((1, len(grid.datasets)))
    rows = []
    for updates, reached in reached_along(grid, curves, enters).items():
        groups = {
            "clone": reached["bc"],
            "value-based": np.mean([y for agent, y in reached.items() if agent != "bc"], axis=0),
        }
        row: Row = {"updates": int(updates)}
        row |= {f"{group}, points": float(y.mean()) for group, y in groups.items()}
        for group, y in groups.items():
            for name in returns_of(grid):
                row[f"{group} with {name}"] = float(pearson(grid.scores[name], y, once)[0])
        rows.append(row)
    return rows


def when_rows(
    grid: Grid,
    curves: Curves,
    enters: Mapping[str, float],
) -> list[Row]:
    """Correlation of every score with what the agents reach after so many updates, and the paired difference to the mean return.

    `enters` says from when an agent counts.
    """
    weights = with_whole(cluster_weights(grid.environments, grid.clusters))
    rows = []
    for updates, reached in reached_along(grid, curves, enters).items():
        y = np.mean(list(reached.values()), axis=0)
        drawn = {name: pearson(x, y, weights) for name, x in grid.scores.items()}
        for name, values in drawn.items():
            row: Row = {
                "updates": updates,
                "score_name": name,
                "agents": len(reached),
                "n": len(y),
            }
            row |= columns_with_interval("", values)
            rows.append(row | columns_with_interval(f"minus_{BASE}_", values - drawn[BASE]))
    return rows


def primary_answer(rows: Sequence[Row]) -> str:
    """Rule 3 applied: is `q` shown to tell more than the mean return over the mixtures?"""
    asked = ("mixtures", "D4RL's scale", "mean of agents", "q")
    row = next(r for r in rows if (r["panel"], r["scaling"], r["target"], r["score_name"]) == asked)
    gain, low, high = (row[f"minus_{BASE}_{end}"] for end in ("value", "low", "high"))
    return (
        f"Primary question, over the {row['n']} mixtures: is the correlation of `q` with the long oracle larger than that of "
        f"`{BASE}`? **{answer(low, high)}**: {gain:.2f} [{low:.2f}, {high:.2f}]. These datasets were seen with `lite`: no "
        "independent confirmation; with three clusters an environment the interval is descriptive."
    )


def answer(low: float | None, high: float | None) -> str:
    """What an interval of a difference says."""
    if low is None or high is None:
        return "not shown"
    return "yes" if low > 0 else "no" if high < 0 else "not shown"
