"""Running the oracle: every agent and seed is a task of the engine, kept in the run store.

An interrupted oracle goes on where it stood; the studies train with the same tasks.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.agents.judges import environment_of
from rlassay.agents.registry import AGENTS, BUILT_IN, DISCRETE_AGENTS, agent_kind
from rlassay.agents.training import train_agent
from rlassay.data.dataset import Dataset
from rlassay.data.references import reference_for
from rlassay.engine.choice import default_engine
from rlassay.engine.local import Engine, Outcome
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SettingsError, SolverError
from rlassay.oracle.profiles import agents_of, settings_of
from rlassay.oracle.statistics import mean_of_means, summarise, table_row
from rlassay.results.oracle import Oracle
from rlassay.results.provenance import describe_data
from rlassay.results.run import describe_reference, run_software
from rlassay.settings import identifying

Report = Callable[[int, int, str], None]  # runs done, runs asked for, news


def oracle(
    data: Dataset,
    env_id: str | None = None,
    *,
    path: str | Path | None = None,
    as_read: bool = False,
    agents: Sequence[str] | None = None,
    seeds: int = 3,
    seed: int = 0,
    profile: str = "lite",
    changes: Mapping[str, Any] | None = None,
    engine: Engine | None = None,
    store: RunStore | None = None,
    report: Report = lambda done, total, news: None,
    command: str = "",
) -> Oracle:
    """Train `agents` with several seeds each and sum up what they reach.

    `agents` are those of the profile unless named. `path` is where workers read the data (default: the dataset's
    source); `as_read` gives them a copy of `data` instead, for files that need options to be read. `changes` are
    settings: `key` for every agent that has it, `agent.key` for one. `report(done, total, news)` hears of every run.
    """
    environment, store = environment_of(data, env_id), store or RunStore()
    discrete = data.discrete_actions
    agents = agents_of(profile, discrete) if agents is None else agents
    settings = settings_of(agents, profile, changes or {}, discrete)
    reference = _data_reference(data, path, store, as_read)
    tasks = [
        make_task(agent, settings[agent], environment, seed + k, reference, discrete)
        for agent in agents
        for k in range(seeds)
    ]
    outcomes = _run(tasks, engine or default_engine(), store, report)
    runs: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes:
        if outcome.result is not None:
            runs.setdefault(outcome.task.settings["agent"], []).append(outcome.result)
    failures = [
        {"run": o.task.label, "cause": o.failure} for o in outcomes if o.failure is not None
    ]
    if not runs:
        raise SolverError("every run of the oracle failed", got=failures[0]["cause"])
    return oracle_of_runs(environment, describe_data(data), runs, profile, failures, command)


def _run(tasks: Sequence[Task], engine: Engine, store: RunStore, report: Report) -> list[Outcome]:
    """All tasks, each told of when it has ended."""
    done: list[Outcome] = []

    def on_outcome(outcome: Outcome) -> None:
        done.append(outcome)
        report(len(done), len(tasks), news_of(outcome))

    return engine.run(tasks, store, on_outcome)


def oracle_of_runs(
    env_id: str,
    dataset: Mapping[str, Any],
    runs: Mapping[str, list[dict[str, Any]]],
    profile: str,
    failures: Sequence[dict[str, Any]] = (),
    command: str = "",
) -> Oracle:
    """Sum up runs (`rlassay.run/1`) by agent: in normalised scores, or returns where there is no reference."""
    reference = reference_for(env_id)
    kind = "return" if reference is None else "score"
    diverged = [run for each in runs.values() for run in each if run["diverged_at"] is not None]
    values, finite = _values(runs, kind), _values(runs, kind, diverged=False)
    return Oracle(
        env_id=env_id,
        dataset=dataset,
        profile=profile,
        score=summarise(values),
        table={agent: table_row(found) for agent, found in values.items()},
        unit="return" if reference is None else "normalised score",
        runs=runs,
        reference=None if reference is None else describe_reference(reference),
        diverged=len(diverged),
        score_without_diverged=mean_of_means(finite) if finite else None,
        failures=list(failures),
        command=command,
        software=run_software(),
    )


def _values(
    runs: Mapping[str, list[dict[str, Any]]], kind: str, *, diverged: bool = True
) -> dict[str, np.ndarray]:
    """What every run of an agent reached; `diverged=False` leaves those out that did."""
    chosen = {
        agent: [run[kind]["value"] for run in each if diverged or run["diverged_at"] is None]
        for agent, each in runs.items()
    }
    return {agent: np.asarray(found, float) for agent, found in chosen.items() if found}


def _data_reference(
    data: Dataset, path: str | Path | None, store: RunStore, as_read: bool = False
) -> dict[str, str]:
    """Where workers find the data; data without a file, or read with options, is written into the store first."""
    from rlassay.formats import save

    source = Path(path or data.origin.source)
    if as_read or not source.exists():
        source = store.root / "datasets" / f"{data.fingerprint[:24]}.npz"
        source.parent.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            save(data, source)
    return {"path": str(source.resolve()), "fingerprint": data.fingerprint}


def make_task(
    agent: str,
    settings: Any,
    env_id: str,
    seed: int,
    data: Mapping[str, Any],
    discrete: bool = False,
) -> Task:
    """One training as a task of the engine; also what the studies run."""
    kind = agent_kind(agent, discrete)
    asked = {"agent": agent, "env_id": env_id, "seed": seed, "settings": identifying(settings)}
    if (
        agent not in BUILT_IN
    ):  # a third party's: the worker has to import the module that registers it
        asked["module"] = kind.make.__module__
    return Task(
        "train", "rlassay.oracle:train_task", asked, data, kind.revision, f"{agent} seed {seed}"
    )


def train_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side of a training: read the data, train in the task's folder, give the run's JSON."""
    from rlassay.formats import load

    if settings["agent"] not in {**AGENTS, **DISCRETE_AGENTS}:
        importlib.import_module(settings["module"])
    dataset = load(data["path"])
    if dataset.fingerprint != data["fingerprint"]:
        raise SettingsError(
            f"{data['path']} changed while the oracle was running", remedy="run the oracle again"
        )
    run = train_agent(
        settings["agent"],
        dataset,
        settings["env_id"],
        folder=folder,
        settings=dict(settings["settings"]),
        seed=settings["seed"],
    )
    return run.to_json()


def news_of(outcome: Outcome) -> str:
    """One finished run in a few words."""
    if outcome.result is None:
        return f"{outcome.task.label}: FAILED, {outcome.failure}"
    score, diverged = outcome.result["score"], outcome.result["diverged_at"]
    value = f"return {outcome.result['return']['value']:.0f}"
    value += "" if score is None else f", score {score['value']:.1f}"
    return f"{outcome.task.label}: {value}" + (f" (diverged at {diverged})" if diverged else "")
