"""Does curation help? BC and IQL on curated or weighted mixtures, against all data, a random part, and top returns.

Every run is a task of the engine: an interrupted study goes on where it stood.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.curation import Rule, apply_rule, weigh, write_weights
from rlassay.data.dataset import Dataset
from rlassay.engine.local import Engine, LocalEngine, Outcome
from rlassay.engine.store import RunStore, Task
from rlassay.stats import mean_interval
from rlassay.study.cells import Cell, Report, export_cells, run_cells
from rlassay.study.files import Row, read_table, write_table
from rlassay.study.training import training_rows

PREPARE_REVISION = 2  # raised whenever an arm chooses other rows
SHARE = 0.5  # of the rows that every filtering arm keeps
RULES: dict[str, Rule] = {
    "return": Rule(keep_rows=SHARE, by="return"),
    "bwd": Rule(keep_rows=SHARE, by="bwd"),
    "advantage": Rule(keep_rows=SHARE, by="advantage"),
    "diverse": Rule(keep_rows=SHARE, by="bwd", diverse=True),
    "diverse-return": Rule(keep_rows=SHARE, by="return", diverse=True),
}
WEIGHTED = {
    "weights-return": "return",
    "weights-advantage": "advantage",
    "weights-value-gap": "value-gap",
}
ARMS = ("full", "random", *RULES, *WEIGHTED)
BASELINES = ("full", "random", "return")  # what an arm is compared with
AGENTS = ("bc", "iql")
COLUMNS = (
    "environment", "dataset", "arm", "agent", "seed", "updates", "episodes", "transitions", "data_return", "score",
    "return",
)  # fmt: skip
SUMMARY = (
    "environment", "dataset", "agent", "arm", "runs", "score", "low", "high",
    *(f"{end}_{base}" for base in BASELINES for end in ("against", "low", "high")),
)  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """What is trained on one mixture."""

    environment: str
    dataset: str
    path: str  # of the mixture
    fingerprint: str
    arms: tuple[str, ...] = ARMS
    agents: tuple[str, ...] = AGENTS
    seeds: int = 3
    preset: str = "default"


# -- preparing the arms ----------------------------------------------------------------------------------------------


def prepare_tasks(grid: Grid) -> list[Task]:
    """One a seed: scores the mixture with that seed and writes every arm's data."""
    reference = {"path": grid.path, "fingerprint": grid.fingerprint}
    return [
        Task(
            "curation-arms",
            "rlassay.study.curation:prepare_task",
            {"arms": list(grid.arms), "seed": seed, "preset": grid.preset, "share": SHARE},
            reference,
            PREPARE_REVISION,
            f"{grid.environment} {grid.dataset} arms seed {seed}",
        )
        for seed in range(grid.seeds)
    ]


def prepare_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: choose and weigh, write into the task's folder, and tell what each arm holds."""
    from rlassay.formats import load

    source = load(data["path"])
    scores = Scores(source, settings["seed"], settings["preset"])
    return {
        arm: _prepare(arm, source, scores, settings["seed"], Path(folder))
        for arm in settings["arms"]
    }


class Scores:
    """Episode and row scores of one mixture and seed, from one critic."""

    def __init__(self, data: Dataset, seed: int, preset: str):
        from rlassay.assay import assess
        from rlassay.episodes import rows_under_assay, table_of

        assessment = assess(data, preset=preset, seed=seed)
        self.table = table_of(assessment, ["return", "bwd", "advantage"])
        self.rows = {
            kind: rows_under_assay(assessment, name)
            for kind, name in (("advantage", "advantage"), ("value-gap", "value_gap"))
        }


def _prepare(arm: str, source: Dataset, scores: Scores, seed: int, folder: Path) -> dict[str, Any]:
    from rlassay.formats import save

    data, weights = source, None
    if arm == "random":
        data = source.select(random_half(source, seed))
    elif arm in RULES:
        data = apply_rule(source, RULES[arm], table=scores.table, seed=seed).data
    elif arm in WEIGHTED:
        kind = WEIGHTED[arm]
        weights = str(folder / f"{arm}.weights.npz")
        write_weights(weights, weigh(source, kind, scores.rows.get(kind)))
    path = folder / f"{arm}.npz"
    if data is source:
        path = folder / "full.npz"
    if not path.exists():
        save(data, path)
    return {
        "path": str(path),
        "fingerprint": data.fingerprint,
        "weights": weights,
        "weights_sha256": None if weights is None else _digest(weights),
        "episodes": data.episode_count,
        "transitions": len(data),
        "data_return": float(data.episode_returns.mean()),
    }


def _digest(path: str) -> str:
    with np.load(path) as archive:
        return hashlib.sha256(archive["weights"].tobytes()).hexdigest()


def random_half(data: Dataset, seed: int) -> np.ndarray:
    """Random episodes until they hold the share of rows that the other arms keep."""
    order = np.random.default_rng([seed, 702]).permutation(data.episode_count)
    rows = np.cumsum(data.episode_lengths[order])
    return np.sort(order[: int(np.searchsorted(rows, SHARE * len(data))) + 1])


# -- training --------------------------------------------------------------------------------------------------------


def training_cells(
    grid: Grid, prepared: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> list[Cell]:
    """Every arm, agent and seed; seed k trains on the arms that seed k prepared. Arms of the same rows share a run."""
    from rlassay.agents.registry import agent_kind
    from rlassay.settings import flatten

    cells = []
    for seed, arms in enumerate(prepared):
        for arm in grid.arms:
            for agent in grid.agents:
                asked = {
                    "agent": agent, "env_id": grid.environment, "seed": seed,
                    "settings": flatten(settings[agent]), "weights": arms[arm]["weights_sha256"],
                }  # fmt: skip
                held = {key: arms[arm][key] for key in ("path", "fingerprint", "weights")}
                label = f"{grid.environment} {grid.dataset} {arm} {agent} seed {seed}"
                function, revision = "rlassay.study.curation:train_task", agent_kind(agent).revision
                columns = {
                    "environment": grid.environment, "dataset": grid.dataset, "arm": arm, "agent": agent, "seed": seed,
                    **{name: arms[arm][name] for name in ("episodes", "transitions", "data_return")},
                }  # fmt: skip
                cells.append(
                    Cell(Task("curation", function, asked, held, revision, label), columns)
                )
    return cells


def train_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: one agent on one arm."""
    from rlassay.agents import train_agent
    from rlassay.agents.weights import read_weights
    from rlassay.formats import load

    dataset = load(data["path"])
    weights = None if data["weights"] is None else read_weights(Path(data["weights"]), dataset)
    run = train_agent(
        settings["agent"], dataset, settings["env_id"], folder=folder,
        settings=dict(settings["settings"]), seed=settings["seed"], weights=weights,
    )  # fmt: skip
    return run.to_json()


def run_grids(
    grids: Sequence[Grid],
    settings: Mapping[str, Any],
    folder: Path,
    about: Mapping[str, Any],
    *,
    engine: Engine | None = None,
    store: RunStore | None = None,
    report: Report,
) -> list[str]:
    """Prepare the arms of every mixture and train what is missing; the tables of the folder grow with every run.

    Returns the causes of failures.
    """
    engine, store = engine or LocalEngine(), store or RunStore()
    arms, failures = _prepared(grids, engine, store, report)
    if failures:
        return failures
    cells = [
        cell for grid in grids for cell in training_cells(grid, arms[grid.environment, grid.dataset], settings)
    ]  # fmt: skip

    table = folder / "runs.csv"
    asked = {_place(cell.columns) for cell in cells}
    earlier = read_table(table) if table.exists() else []
    beside = [row for row in earlier if _place(row) not in asked]  # other mixtures and arms stay

    def export() -> None:
        rows = export_cells(table, cells, COLUMNS, training_rows, about, store, beside)
        write_table(folder / "summary.csv", summarise(rows), SUMMARY, about)

    return run_cells(cells, table=table, export=export, engine=engine, store=store, report=report)


def _place(row: Mapping[str, Any]) -> tuple:
    """What tells the runs of a table apart."""
    return (*(row[name] for name in ("environment", "dataset", "arm", "agent")), int(row["seed"]))


def _prepared(
    grids: Sequence[Grid], engine: Engine, store: RunStore, report: Report
) -> tuple[dict[tuple[str, str], list[Any]], list[str]]:
    """What each mixture's arms hold, one entry a seed."""

    def on_outcome(outcome: Outcome) -> None:
        if not outcome.cached:
            report(f"{outcome.task.label}: {outcome.failure or 'done'}")

    tasks = {(grid.environment, grid.dataset): prepare_tasks(grid) for grid in grids}
    every = [task for each in tasks.values() for task in each]
    found = {o.task.key: o for o in engine.run(every, store, on_outcome)}
    failures = [f"{o.task.label}: {o.failure}" for o in found.values() if o.failure]
    arms = {name: [found[task.key].result for task in each] for name, each in tasks.items()}
    return arms, failures


# -- summary ---------------------------------------------------------------------------------------------------------


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Mean score of every arm with its interval over seeds, and paired differences to the three baselines."""
    cells: dict[tuple, dict[int, float]] = {}
    for row in rows:
        key = (row["environment"], row["dataset"], row["agent"], row["arm"])
        value = row["score"] if row.get("score") is not None else row.get("return")
        if value is not None:
            cells.setdefault(key, {})[int(row["seed"])] = float(value)
    return [
        _summary(key, cells)
        for key in sorted(cells, key=lambda key: (*key[:3], ARMS.index(key[3])))
    ]


def _summary(key: tuple, cells: Mapping[tuple, Mapping[int, float]]) -> Row:
    scores = cells[key]
    found: Row = dict(zip(("environment", "dataset", "agent", "arm"), key, strict=True))
    found |= {"runs": len(scores)} | _with_interval(list(scores.values()), "score", "low", "high")
    for base in BASELINES:
        other = cells.get((*key[:3], base), {})
        paired = [scores[seed] - other[seed] for seed in scores if seed in other]
        if base != key[3] and paired:
            found |= _with_interval(paired, f"against_{base}", f"low_{base}", f"high_{base}")
    return found


def _with_interval(values: Sequence[float], mean: str, low: str, high: str) -> Row:
    """The mean and its 95 % interval under the names of their columns."""
    return {
        mean: float(np.mean(values)),
        **dict(zip((low, high), mean_interval(values) or (None, None), strict=True)),
    }


def describe_rules() -> dict[str, Any]:
    """The arms as they stand in a result's JSON."""
    rules = {arm: rule.to_dict() for arm, rule in RULES.items()}
    return {"rules": rules, "weights": WEIGHTED, "share_of_rows": SHARE}
