"""Does curation help? BC and IQL on curated or weighted mixtures, against all data, a random part, and top returns.

Every run is a task of the engine: an interrupted study goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.choice import default_engine
from rlassay.engine.local import Engine, Outcome
from rlassay.engine.store import RunStore, Task
from rlassay.settings import identifying
from rlassay.stats import mean_interval
from rlassay.study.curation.arms import ARMS, Grid, prepare_tasks
from rlassay.study.grid.cells import Cell, Report, export_cells, run_cells
from rlassay.study.grid.files import Row, read_table, write_table
from rlassay.study.grid.training import training_rows

BASELINES = ("full", "random", "return")  # what an arm is compared with
COLUMNS = (
    "environment",
    "dataset",
    "arm",
    "agent",
    "seed",
    "updates",
    "episodes",
    "transitions",
    "data_return",
    "score",
    "return",
)
SUMMARY = (
    "environment",
    "dataset",
    "agent",
    "arm",
    "runs",
    "score",
    "low",
    "high",
    *(f"{end}_{base}" for base in BASELINES for end in ("against", "low", "high")),
)


def training_cells(
    grid: Grid, prepared: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> list[Cell]:
    """Every arm, agent and seed; seed k trains on the arms that seed k prepared. Arms of the same rows share a run."""
    return [
        _cell(grid, arm, agent, seed, arms[arm], settings[agent])
        for seed, arms in enumerate(prepared)
        for arm in grid.arms
        for agent in grid.agents
    ]


def _cell(
    grid: Grid, arm: str, agent: str, seed: int, prepared: Mapping[str, Any], settings: Any
) -> Cell:
    from rlassay.agents.registry import agent_kind

    asked = {
        "agent": agent,
        "env_id": grid.environment,
        "seed": seed,
        "settings": identifying(settings),
        "weights": prepared["weights_sha256"],
    }
    task = Task(
        "curation",
        "rlassay.study.curation.learning:train_task",
        asked,
        {key: prepared[key] for key in ("path", "fingerprint", "weights")},
        agent_kind(agent).revision,
        f"{grid.environment} {grid.dataset} {arm} {agent} seed {seed}",
    )
    held = {name: prepared[name] for name in ("episodes", "transitions", "data_return")}
    named = {"environment": grid.environment, "dataset": grid.dataset, "arm": arm, "agent": agent}
    return Cell(task, {**named, "seed": seed, **held})


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
        settings["agent"],
        dataset,
        settings["env_id"],
        folder=folder,
        settings=dict(settings["settings"]),
        seed=settings["seed"],
        weights=weights,
    )
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
    engine, store = engine or default_engine(), store or RunStore()
    arms, failures = _prepared(grids, engine, store, report)
    if failures:
        return failures
    cells = [
        cell
        for grid in grids
        for cell in training_cells(grid, arms[grid.environment, grid.dataset], settings)
    ]

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
