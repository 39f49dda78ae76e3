"""TD3 runs in the store: one folder per environment, seed and settings; a second call continues it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rlassay.collect.sources import RunActors
from rlassay.progress import progress
from rlassay.references import reference_for
from rlassay.runtime import state_folder

# What a run's numbers depend on; how far it goes and how often it looks up is not part of its identity.
_NOT_IDENTITY = ("steps", "eval_every", "eval_episodes", "checkpoint_every")


def run_folder(env_id: str, seed: int, settings: Any) -> Path:
    """The folder of one run; other settings or another revision of the collector get another folder."""
    from rlassay.collect.td3 import describe

    identity = {k: v for k, v in describe(settings).items() if k not in _NOT_IDENTITY}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
    return state_folder() / "collect" / env_id / f"seed{seed}-{digest}"


def train_run(env_id: str, seed: int, settings: Any) -> dict[str, Any]:
    """Train one seed to its end, or continue it; returns where it is and how it ended."""
    from rlassay.collect.checkpoint import saved_step
    from rlassay.collect.td3 import Trainer
    from rlassay.runtime import keep_compiled_programs

    keep_compiled_programs()
    folder = run_folder(env_id, seed, settings)
    if saved_step(folder) < settings.steps:
        trainer = Trainer(env_id, seed, folder, settings)
        reference = reference_for(env_id)
        with progress(f"TD3 on {env_id}, seed {seed}", settings.steps) as advance:
            trainer.run(lambda point: advance(point.step, _news(point, reference)))
    return {"folder": str(folder), "seed": seed, "steps": settings.steps}


def run_actors(env_id: str, seeds: list[int], settings: Any) -> RunActors:
    """The actors of trained runs."""
    return RunActors(env_id, {seed: run_folder(env_id, seed, settings) for seed in seeds})


def _news(point: Any, reference: Any) -> str:
    mean = sum(point.returns) / len(point.returns)
    scored = "" if reference is None else f", normalised {reference.normalise(mean):.1f}"
    return f"return {mean:.0f}{scored}"
