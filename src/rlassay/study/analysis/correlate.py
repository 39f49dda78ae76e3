"""How well each score predicts the oracle: correlations with intervals, and paired differences to plain baselines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlassay.stats import Correlation, Estimate, correlations, estimate, resampled_indices
from rlassay.study.grid.files import Row

KINDS: tuple[Correlation, ...] = ("pearson", "spearman", "kendall")
BASELINES = ("return", "q")
REPLICATES = 2_000
POOLED = "pooled, both min-max"  # scores and oracle, within environments
RAW = "pooled, oracle raw"
FEWEST = 3  # datasets of an environment that a correlation needs


@dataclass(frozen=True)
class Points:
    """Datasets with an oracle: `x[score]` is (datasets, seeds), `y` the oracle, each with its environment."""

    environments: np.ndarray
    datasets: np.ndarray
    y: np.ndarray
    x: Mapping[str, np.ndarray]
    signs: Mapping[str, int]

    def restrict(self, keep: np.ndarray) -> Points:
        chosen = {name: values[keep] for name, values in self.x.items()}
        return Points(
            self.environments[keep], self.datasets[keep], self.y[keep], chosen, self.signs
        )


def oracle_table(runs: Sequence[Row], agents: Sequence[str]) -> dict[tuple[str, str], float]:
    """Mean over agents of the mean over seeds of the last evaluation; only datasets with every agent."""
    return {
        key: mean_over_agents(found, agents) for key, found in complete_runs(runs, agents).items()
    }


def runs_by_dataset(runs: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Finished runs by environment and dataset."""
    found: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        if run.get("score") is not None:
            found.setdefault((run["environment"], run["dataset"]), []).append(run)
    return found


def complete_runs(runs: Iterable[Row], agents: Sequence[str]) -> dict[tuple[str, str], list[Row]]:
    """The same for the datasets that every agent has run on; a seed counts once all agents have run with it."""
    wanted = set(agents)
    found = {}
    for key, group in runs_by_dataset(runs).items():
        known: dict[float | None, set[str]] = {}
        for run in group:
            known.setdefault(run.get("seed"), set()).add(run["agent"])
        whole = [r for r in group if r["agent"] in wanted and wanted <= known[r.get("seed")]]
        if whole:
            found[key] = whole
    return found


def mean_over_agents(runs: Sequence[Row], agents: Sequence[str], column: str = "score") -> float:
    """Mean over agents of the mean over seeds; agents without a value are left out."""
    by_agent = [
        [run[column] for run in runs if run["agent"] == agent and run[column] is not None]
        for agent in agents
    ]
    known = [np.mean(values) for values in by_agent if values]
    return float(np.mean(known)) if known else np.nan


def make_points(
    scores: Sequence[Row], oracle: Mapping[tuple[str, str], float], signs: Mapping[str, int]
) -> Points:
    """Join scores and oracle; a score that some dataset lacks is left out of all."""
    keys = sorted(oracle)
    values: dict[str, dict[tuple[str, str], list[float]]] = {}
    for row in scores:
        if row["value"] is not None:
            per_dataset = values.setdefault(row["score_name"], {})
            per_dataset.setdefault((row["environment"], row["dataset"]), []).append(row["value"])
    complete = {n: v for n, v in values.items() if keys and all(key in v for key in keys)}
    seeds = {n: min(len(v[key]) for key in keys) for n, v in complete.items()}
    x = {n: np.array([v[key][: seeds[n]] for key in keys]) for n, v in complete.items()}
    environments, datasets = (np.array([key[i] for key in keys]) for i in (0, 1))
    y = np.array([oracle[key] for key in keys])
    return Points(environments, datasets, y, x, {name: signs.get(name, 1) for name in x})


def min_max(values: np.ndarray, environments: np.ndarray) -> np.ndarray:
    """Scaled to 0..1 within each environment; a constant becomes 0."""
    scaled = np.zeros_like(values, dtype=float)
    for environment in np.unique(environments):
        inside = environments == environment
        low, high = values[inside].min(), values[inside].max()
        scaled[inside] = (values[inside] - low) / (high - low) if high > low else 0.0
    return scaled


def correlation_rows(
    points: Points, panel: str, seed: int = 0, baselines: Sequence[str] = BASELINES
) -> list[Row]:
    """One row per score, correlation and scope: each environment, pooled min-max, pooled against the raw oracle."""
    rows = []
    for scope, inside, scale in scopes_of(points):
        part = points.restrict(inside)
        if len(part.y) < FEWEST:
            continue
        drawn = _Draws(part, scale, seed)
        for kind in KINDS:
            values = {name: drawn.correlation(name, kind) for name in part.x}
            for name, (found, replicates) in values.items():
                row = {
                    "panel": panel,
                    "scope": scope,
                    "kind": kind,
                    "score_name": name,
                    "n": len(part.y),
                }
                row |= _columns("", estimate(found, replicates, len(part.y)))
                for baseline in baselines:
                    if baseline in values:
                        base, base_replicates = values[baseline]
                        gain = estimate(found - base, replicates - base_replicates, len(part.y))
                        row |= _columns(f"minus_{baseline}_", gain)
                rows.append(row)
    return rows


def correlation_columns(baselines: Sequence[str] = BASELINES) -> tuple[str, ...]:
    """The columns of `correlation_rows`, in the order of its tables."""
    gains = [f"minus_{name}_{end}" for name in baselines for end in ("value", "low", "high")]
    return ("panel", "scope", "kind", "score_name", "n", "value", "low", "high", *gains)


def _columns(prefix: str, found: Estimate) -> Row:
    low, high = found.interval if found.interval is not None else (None, None)
    value = found.value if np.isfinite(found.value) else None
    return {f"{prefix}value": value, f"{prefix}low": low, f"{prefix}high": high}


def scopes_of(points: Points) -> Iterator[tuple[str, np.ndarray, bool]]:
    """Every environment, then all with enough datasets together: (name, which datasets, whether the oracle is scaled)."""
    for environment in np.unique(points.environments):
        yield str(environment), points.environments == environment, False
    names, counts = np.unique(points.environments, return_counts=True)
    enough = names[counts >= FEWEST]
    if len(enough) > 1:  # two datasets scaled to 0 and 1 would agree with any score
        inside = np.isin(points.environments, enough)
        yield POOLED, inside, True
        yield RAW, inside, False


class _Draws:
    """Resamples of datasets (within environments) and of scoring seeds, shared by all scores: differences are paired."""

    def __init__(self, points: Points, scale_oracle: bool, seed: int):
        self.points = points
        self.y = min_max(points.y, points.environments) if scale_oracle else points.y
        self.rows = resampled_indices(len(points.y), points.environments, REPLICATES, seed)
        self.seeds = np.random.default_rng([seed, 203]).integers(0, 2**31, self.rows.shape)
        self.pooled = len(np.unique(points.environments)) > 1

    def correlation(self, name: str, kind: Correlation) -> tuple[float, np.ndarray]:
        x = self.points.signs[name] * self.points.x[name]
        if self.pooled:
            x = np.stack([min_max(column, self.points.environments) for column in x.T], axis=1)
        value = correlations(x.mean(axis=1)[None], self.y[None], kind)[0]
        drawn = x[self.rows, self.seeds % x.shape[1]]
        return float(value), correlations(drawn, self.y[self.rows], kind)


def choose(points: Points, candidates: Sequence[str]) -> str:
    """The stated rule: highest mean over environments of Pearson with the oracle; within 0.01 the earlier wins."""
    means = {name: _mean_pearson(points, name) for name in candidates if name in points.x}
    best = max(means.values())
    return next(name for name in means if means[name] >= best - 0.01)


def leave_one_out(points: Points, candidates: Sequence[str]) -> list[Row]:
    """Choose on the other environments, judge on the one left out."""
    rows = []
    for environment in np.unique(points.environments):
        inside = points.environments == environment
        chosen = choose(points.restrict(~inside), candidates)
        judged = points.restrict(inside)
        row: Row = {"left_out": str(environment), "chosen": chosen}
        for name in (chosen, *BASELINES):
            if name in judged.x:
                label = "chosen_pearson" if name == chosen else f"{name}_pearson"
                row[label] = _mean_pearson(judged, name)
        rows.append(row)
    return rows


def choice_rows(points: Points, candidates: Sequence[str]) -> list[Row]:
    """What the rule chooses by: Pearson of every candidate in every environment, and its mean."""
    return [
        {
            "score": name,
            **_pearson_by_environment(points, name),
            "mean": _mean_pearson(points, name),
        }
        for name in candidates
        if name in points.x
    ]


def _mean_pearson(points: Points, name: str) -> float:
    return float(np.mean(list(_pearson_by_environment(points, name).values())))


def _pearson_by_environment(points: Points, name: str) -> dict[str, float]:
    """Pearson with the oracle, 0 where one of both is constant."""
    x = points.signs[name] * points.x[name].mean(axis=1)
    found = {}
    for environment in np.unique(points.environments):
        inside = points.environments == environment
        (value,) = correlations(x[inside][None], points.y[inside][None], "pearson")
        found[str(environment)] = float(np.nan_to_num(value, nan=0.0))
    return found
