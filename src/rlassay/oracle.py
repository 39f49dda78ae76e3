"""The oracle: what offline agents really reach on a dataset. Its score is the yardstick of all others (`rlassay.oracle/1`).

`score.value` is the mean over agents of the mean over seeds of the last evaluation, never of the best. Every run is a
task of the engine, kept in the run store, so that an interrupted oracle goes on where it stood.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from rlassay.agents.registry import AGENTS, SEVEN, agent_kind
from rlassay.agents.training import environment_of, make_settings, train_agent
from rlassay.data.dataset import Dataset
from rlassay.data.references import reference_for
from rlassay.engine.local import Engine, LocalEngine, Outcome
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SettingsError, SolverError
from rlassay.published import Published, published_scores
from rlassay.results.provenance import describe_data
from rlassay.results.run import describe_reference, software
from rlassay.settings import allowed_keys, identifying

SCHEMA = "rlassay.oracle/1"
REPLICATES = 2_000  # of the bootstrap over seeds

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
# `long` is `lite` until it has come to rest: three times the updates, and the mean of three evaluations at the end.
LONG = LITE | {
    "*": LITE["*"]
    | {
        "updates": 150_000,
        "eval_every": 10_000,
        "eval_episodes": 10,
        "final_evaluations": 3,
        "final_eval_episodes": 20,
    }
}
PROFILES: dict[str, dict[str, dict[str, Any]]] = {"paper": {}, "lite": LITE, "long": LONG}
LONG_AGENTS = ("bc", "td3bc", "iql", "xql", "awac", "onestep")  # without CQL, which does not learn


def agents_of(profile: str) -> tuple[str, ...]:
    """The agents a profile trains unless others are named."""
    return LONG_AGENTS if profile == "long" else SEVEN


@dataclass
class Oracle:
    """Runs of several agents and seeds on one dataset, and what they say together."""

    env_id: str
    dataset: dict[str, Any]
    runs: dict[str, list[dict[str, Any]]]  # agent: one `rlassay.run/1` a seed
    profile: str
    failures: list[dict[str, Any]] = field(default_factory=list)
    command: str = ""

    @property
    def complete(self) -> bool:
        return not self.failures

    def values(self, *, diverged: bool = True) -> dict[str, np.ndarray]:
        """Last evaluation of every run by agent: the normalised score, or the return where there is no reference."""
        kind = "return" if reference_for(self.env_id) is None else "score"
        chosen = {
            agent: [r[kind]["value"] for r in runs if diverged or r["diverged_at"] is None]
            for agent, runs in self.runs.items()
        }
        return {agent: np.asarray(v, float) for agent, v in chosen.items() if v}

    def to_json(self) -> dict[str, Any]:
        """The versioned JSON of the oracle."""
        reference, values = reference_for(self.env_id), self.values()
        diverged = sum(
            run["diverged_at"] is not None for runs in self.runs.values() for run in runs
        )
        finite = self.values(diverged=False)
        return {
            "schema": SCHEMA,
            "env_id": self.env_id,
            "dataset": self.dataset,
            "profile": self.profile,
            "score": summarise(values),
            "unit": "return" if reference is None else "normalised score",
            "reference": None if reference is None else describe_reference(reference),
            "diverged": diverged,
            "score_without_diverged": mean_of_means(finite) if finite else None,
            "table": {agent: _row(v) for agent, v in values.items()},
            "agents": self.runs,
            "failures": self.failures,
            "command": self.command,
            "software": software(),
        }


def oracle(
    data: Dataset,
    env_id: str | None = None,
    *,
    path: str | Path | None = None,
    agents: Sequence[str] | None = None,
    seeds: int = 3,
    seed: int = 0,
    profile: str = "lite",
    changes: Mapping[str, Any] | None = None,
    engine: Engine | None = None,
    store: RunStore | None = None,
    report: Callable[[int, int, str], None] = lambda done, total, news: None,
    command: str = "",
) -> Oracle:
    """Train `agents` with several seeds each and sum up what they reach.

    `agents` are those of the profile unless named. `path` is where workers read the data (default: the dataset's source). `changes` are settings: `key` for every agent
    that has it, `agent.key` for one. `report(done, total, news)` hears of every finished run.
    """
    environment, store = environment_of(data, env_id), store or RunStore()
    agents = agents_of(profile) if agents is None else agents
    settings = settings_of(agents, profile, changes or {})
    reference = _data_reference(data, path, store)
    tasks = [
        make_task(agent, settings[agent], environment, seed + k, reference)
        for agent in agents
        for k in range(seeds)
    ]
    done: list[Outcome] = []

    def on_outcome(outcome: Outcome) -> None:
        done.append(outcome)
        report(len(done), len(tasks), news_of(outcome))

    outcomes = (engine or LocalEngine()).run(tasks, store, on_outcome)
    runs: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes:
        if outcome.result is not None:
            runs.setdefault(outcome.task.settings["agent"], []).append(outcome.result)
    failures = [
        {"run": o.task.label, "cause": o.failure} for o in outcomes if o.failure is not None
    ]
    if not runs:
        raise SolverError("every run of the oracle failed", got=failures[0]["cause"])
    return Oracle(environment, describe_data(data), runs, profile, failures, command)


def _data_reference(data: Dataset, path: str | Path | None, store: RunStore) -> dict[str, str]:
    """Where workers find the data; data without a file is written into the store first."""
    from rlassay.formats import save

    source = Path(path or data.origin.source)
    if not source.exists():
        source = store.root / "datasets" / f"{data.fingerprint[:24]}.npz"
        source.parent.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            save(data, source)
    return {"path": str(source.resolve()), "fingerprint": data.fingerprint}


def make_task(agent: str, settings: Any, env_id: str, seed: int, data: Mapping[str, Any]) -> Task:
    """One training as a task of the engine; also what the studies run."""
    kind = agent_kind(agent)
    asked = {"agent": agent, "env_id": env_id, "seed": seed, "settings": identifying(settings)}
    if agent not in SEVEN:  # a third party's: the worker has to import the module that registers it
        asked["module"] = kind.make.__module__
    return Task(
        "train", "rlassay.oracle:train_task", asked, data, kind.revision, f"{agent} seed {seed}"
    )


def train_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side of a training: read the data, train in the task's folder, give the run's JSON."""
    from rlassay.formats import load

    if settings["agent"] not in AGENTS:
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


def settings_of(agents: Sequence[str], profile: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of every agent: its defaults, then the profile, then the changes."""
    if profile not in PROFILES:
        raise SettingsError("unknown profile", allowed=list(PROFILES), got=profile)
    used: set[str] = set()
    chosen = {agent: _settings_of_one(agent, PROFILES[profile], changes, used) for agent in agents}
    if unused := set(changes) - used:
        known = sorted({key for settings in chosen.values() for key in allowed_keys(settings)})
        raise SettingsError(
            "a setting belongs to none of the agents", allowed=known, got=sorted(unused)
        )
    return chosen


def _settings_of_one(
    agent: str, profile: Mapping, changes: Mapping[str, Any], used: set[str]
) -> Any:
    known = set(allowed_keys(agent_kind(agent).settings()))
    merged = {**profile.get("*", {}), **profile.get(agent, {})}
    for key, value in changes.items():
        owner, _, name = key.rpartition(".")
        if owner in ("", agent) and name in known:
            merged[name] = value
            used.add(key)
    return make_settings(agent, {name: v for name, v in merged.items() if name in known})


# -- statistics ----------------------------------------------------------------------------------------------------


def interquartile_mean(values: np.ndarray) -> float:
    """Mean of the middle half of all runs, as rliable computes it."""
    return float(stats.trim_mean(np.ravel(values), 0.25))


def mean_of_means(values: Mapping[str, np.ndarray]) -> float:
    """Mean over agents of the mean over seeds."""
    return float(np.mean([v.mean() for v in values.values()]))


def summarise(values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The oracle's score and what stands beside it."""
    means = np.array([v.mean() for v in values.values()])
    every = np.concatenate(list(values.values()))
    best = max(values, key=lambda agent: values[agent].mean())
    return {
        "value": float(means.mean()),
        "interval": seed_interval(values),
        "spread": float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        "iqm": interquartile_mean(every),
        "median": float(np.median(means)),
        "best": {"agent": best, "value": float(means.max())},
    }


def seed_interval(values: Mapping[str, np.ndarray]) -> list[float] | None:
    """95 % bootstrap interval of the mean of means, seeds resampled within each agent; None with single seeds."""
    if min(len(v) for v in values.values()) < 2:
        return None
    rng = np.random.default_rng(0)
    drawn = [rng.choice(v, (REPLICATES, len(v))).mean(axis=1) for v in values.values()]
    return np.percentile(np.mean(drawn, axis=0), [2.5, 97.5]).tolist()


def _row(values: np.ndarray) -> dict[str, Any]:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return {"mean": float(values.mean()), "deviation": deviation, "runs": values.tolist()}


def news_of(outcome: Outcome) -> str:
    """One finished run in a few words."""
    if outcome.result is None:
        return f"{outcome.task.label}: FAILED, {outcome.failure}"
    score, diverged = outcome.result["score"], outcome.result["diverged_at"]
    value = f"return {outcome.result['return']['value']:.0f}"
    value += "" if score is None else f", score {score['value']:.1f}"
    return f"{outcome.task.label}: {value}" + (f" (diverged at {diverged})" if diverged else "")


def published_oracle(name: str) -> dict[str, Any]:
    """The oracle of a D4RL dataset from published tables, in the same JSON; it has no runs, but sources."""
    row: Published = published_scores(name)
    values = {agent: np.array([score]) for agent, score in row.agents.items()}
    return {
        "schema": SCHEMA,
        "env_id": row.dataset,
        "dataset": {"source": row.dataset},
        "profile": "published",
        "score": {**summarise(values), "spread": row.spread},
        "unit": "normalised score",
        "table": {agent: _row(v) for agent, v in values.items()},
        "agents": {agent: [] for agent in values},
        "sources": row.sources,
        "failures": [],
    }
