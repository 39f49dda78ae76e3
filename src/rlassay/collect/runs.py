"""Online runs in the store: one folder per environment, seed and settings; a second call continues it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rlassay.collect.settings import DQNSettings, TD3Settings
from rlassay.collect.sources import CURVE, RunActors, read_curve
from rlassay.data.references import reference_for
from rlassay.errors import SolverError
from rlassay.progress import progress
from rlassay.runtime import state_folder

# What a run's numbers depend on; how far it goes and how often it looks up is not part of its identity.
# DQN's rate falls over its steps, so there they are.
_NOT_IDENTITY = ("steps", "eval_every", "eval_episodes", "checkpoint_every")


def collector(settings: Any) -> str:
    """The learner these settings are of: `td3`, or `dqn` for discrete actions."""
    return "dqn" if isinstance(settings, DQNSettings) else "td3"


def learner(settings: Any) -> ModuleType:
    """The module of the learner, with `Trainer` and `describe`."""
    return import_module(f"rlassay.collect.{collector(settings)}")


def run_folder(env_id: str, seed: int, settings: Any) -> Path:
    """The folder of one run; other settings or another revision of the collector get another folder."""
    described = learner(settings).describe(settings)
    left_out = _NOT_IDENTITY if collector(settings) == "td3" else _NOT_IDENTITY[1:]
    identity = {k: v for k, v in described.items() if k not in left_out}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
    return state_folder() / "collect" / env_id / f"seed{seed}-{digest}"


def train_run(env_id: str, seed: int, settings: Any) -> dict[str, Any]:
    """Train one seed to its end, or continue it; returns where it is and how it ended."""
    from rlassay.collect.progress import settled_step
    from rlassay.runtime import keep_compiled_programs

    keep_compiled_programs()
    folder = run_folder(env_id, seed, settings)
    if settled_step(folder) < settings.steps:
        trainer = learner(settings).Trainer(env_id, seed, folder, settings)
        reference, name = reference_for(env_id), collector(settings).upper()
        with progress(f"{name} on {env_id}, seed {seed}", settings.steps) as advance:
            trainer.run(lambda point: advance(point.step, _news(point, reference)))
    return {"folder": str(folder), "seed": seed, "steps": settings.steps}


def train_all(env_id: str, seeds: list[int], settings: Any) -> None:
    """Train every seed that is not finished, side by side; one alone runs in this process."""
    if len(seeds) == 1:
        train_run(env_id, seeds[0], settings)
        return
    from rlassay.engine.local import LocalEngine
    from rlassay.engine.store import RunStore

    folders = [run_folder(env_id, seed, settings) for seed in seeds]
    name = collector(settings).upper()
    with _watch(f"{name} on {env_id}, {len(seeds)} seeds", folders, settings.steps):
        outcomes = LocalEngine().run(training_tasks(env_id, seeds, settings), RunStore())
    failed = [f"{o.task.label}: {o.failure}" for o in outcomes if o.failure]
    if failed:
        raise SolverError(
            "; ".join(failed), remedy="run the same command again: it continues where it stopped"
        )


def training_tasks(env_id: str, seeds: list[int], settings: Any) -> list[Any]:
    """One task of the engine a seed."""
    from rlassay.engine.store import Task

    name, revision = collector(settings), learner(settings).describe(settings)["revision"]
    return [
        Task(
            "collect",
            "rlassay.collect.runs:train_task",
            {"env_id": env_id, "seed": seed, name: asdict(settings)},
            revision=revision,
            label=f"{name.upper()} on {env_id}, seed {seed}",
        )
        for seed in seeds
    ]


def train_task(settings: Mapping[str, Any], data: Any, folder: Path) -> dict[str, Any]:
    """`train_run` as a task of the engine; the run keeps its own folder, so that longer runs continue it."""
    env_id, seed = settings["env_id"], settings["seed"]
    if "dqn" in settings:
        return train_run(env_id, seed, DQNSettings(**settings["dqn"]))
    return train_run(env_id, seed, TD3Settings(**settings["td3"]))


@contextmanager
def _watch(description: str, folders: list[Path], steps: int) -> Iterator[None]:
    """Show how far runs in other processes are, by the evaluations they have written."""
    ended = threading.Event()

    def look(advance: Any) -> None:
        while not ended.wait(2.0):
            reached = [_last_evaluation(folder) for folder in folders]
            advance(sum(step for step, _ in reached), f"returns {[round(v) for _, v in reached]}")

    with progress(description, steps * len(folders)) as advance:
        watcher = threading.Thread(target=look, args=(advance,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _last_evaluation(folder: Path) -> tuple[int, float]:
    try:
        return read_curve(folder / CURVE)[-1]
    except (OSError, IndexError):
        return 0, 0.0


def run_actors(env_id: str, seeds: list[int], settings: Any) -> RunActors:
    """The actors of trained runs."""
    folders = {seed: run_folder(env_id, seed, settings) for seed in seeds}
    return RunActors(env_id, folders, collector=collector(settings))


def _news(point: Any, reference: Any) -> str:
    mean = sum(point.returns) / len(point.returns)
    scored = "" if reference is None else f", normalised {reference.normalise(mean):.1f}"
    return f"return {mean:.0f}{scored}"
