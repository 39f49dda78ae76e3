"""The zoo: trained actors as small files with a manifest that says how they were made and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.collect.graded import software_versions
from rlassay.collect.recipes import medium_step
from rlassay.collect.sources import MANIFEST, RunActors, actor_path, file_hash, load_manifest
from rlassay.data.references import reference_for
from rlassay.engine.files import write_json
from rlassay.policy import Policy
from rlassay.rollout import evaluate

EVALUATION_EPISODES = 20
EVALUATION_SEED = 1_000_003  # apart from every seed a training run evaluates with
OTHERS_FROM = 100  # numbers of runs of other algorithms begin here, apart from the seeds of ours


def add_to_zoo(
    folder: Path,
    actors: RunActors,
    *,
    levels: Sequence[int],
    settings: dict[str, Any],
    replay_seed: int | None,
) -> None:
    """Store each run's actors at the levels in half precision and describe them in the manifest.

    For `replay_seed` the actors of every evaluation up to its medium step are stored too: rolled out in equal shares
    they stand in for the replay buffer.
    """
    manifest = read_manifest(folder)
    environment = manifest["environments"].setdefault(actors.env_id, {"runs": {}})
    if actors.collector != "td3":
        environment["collector"] = actors.collector
    for seed in actors.seeds():
        wanted = {step for step in levels if step > 0}
        if seed == replay_seed:
            last = medium_step(actors, seed)
            environment["replay"] = {"seed": seed, "medium_step": last}
            wanted |= {step for step, _ in actors.curve(seed) if step <= last}
        run = environment["runs"].setdefault(str(seed), {"actors": {}})
        run |= {"settings": settings, "curve": actors.curve(seed)}
        for step in sorted(wanted):
            if str(step) not in run["actors"]:
                path = actor_path(folder, actors.env_id, seed, step)
                run["actors"][str(step)] = _store_actor(
                    path, actors.actor(seed, step), actors.env_id
                )
                write_json(folder / MANIFEST, manifest)
    manifest["software"] = software_versions()
    write_json(folder / MANIFEST, manifest)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a zoo, or that of one which is still empty."""
    if (folder / MANIFEST).exists():
        return load_manifest(folder)
    return {"schema": "rlassay.zoo/1", "environments": {}}


def add_hashes(folder: Path) -> None:
    """Name the hash of every actor's file in the manifest, where a zoo older than hashes has none."""
    manifest = load_manifest(folder)
    for env_id, environment in manifest["environments"].items():
        for seed, run in environment["runs"].items():
            for step, actor in run["actors"].items():
                actor.setdefault("sha256", file_hash(actor_path(folder, env_id, seed, step)))
    write_json(folder / MANIFEST, manifest)


def add_other(folder: Path, about: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """Store the actor of another algorithm beside our runs, where no recipe takes it unasked.

    `about` says where it comes from: environment, algorithm, seed, steps, settings, software, curve.
    """
    manifest = load_manifest(folder)
    env_id, step = about["environment"], about["steps"]
    number = OTHERS_FROM + about["seed"]
    actor = _store_actor(actor_path(folder, env_id, number, step), policy, env_id)
    told = {key: value for key, value in about.items() if key not in ("environment", "steps")}
    others = manifest["environments"][env_id].setdefault("others", {})
    others[str(number)] = {**told, "actors": {str(step): actor}}
    write_json(folder / MANIFEST, manifest)
    return actor


def _store_actor(path: Path, full: Policy, env_id: str) -> dict[str, Any]:
    full.save(path, half=True)
    stored = _evaluation(Policy.load(path), env_id)
    before = _evaluation(full, env_id)
    return {
        **stored,
        "mean_return_full_precision": before["mean_return"],
        "sha256": file_hash(path),
    }


def _evaluation(policy: Policy, env_id: str) -> dict[str, Any]:
    """Mean return over fresh episodes without noise, its standard error and normalised value."""
    returns = evaluate(policy, env_id, episodes=EVALUATION_EPISODES, seed=EVALUATION_SEED).values
    reference = reference_for(env_id)
    mean = float(returns.mean())
    return {
        "mean_return": round(mean, 2),
        "standard_error": round(float(returns.std(ddof=1) / np.sqrt(len(returns))), 2),
        "normalised": None if reference is None else round(float(reference.normalise(mean)), 2),
        "episodes": EVALUATION_EPISODES,
    }
