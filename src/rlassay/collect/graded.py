"""Write graded datasets: roll out recipes with a stated noise, or take the replay buffer itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.replay import read_rows
from rlassay.collect.sources import Actors, RunActors
from rlassay.data.dataset import Dataset, Origin
from rlassay.data.references import reference_for
from rlassay.kernel import units
from rlassay.policy import Policy
from rlassay.results.provenance import package_version
from rlassay.rollout import Transitions, collect, is_discrete, make_env

REVISION = 1
ROLLOUT_STREAM = 6


@dataclass(frozen=True)
class RolloutSettings:
    """How policies become data."""

    transitions: int = 100_000  # a dataset; the paper has 1,000,000
    noise: float = 0.1  # Gaussian, of half the action range; the share of random discrete actions


def roll_out(actors: Actors, recipe: Recipe, settings: RolloutSettings) -> Dataset:
    """The dataset of a recipe, in equal shares of its parts; a function of actors, recipe and settings alone."""
    env = make_env(actors.env_id)
    try:
        shares = np.diff(np.linspace(0, settings.transitions, len(recipe.parts) + 1).astype(int))
        pieces = [
            _roll_out_part(env, actors, part, int(share), settings.noise)
            for part, share in zip(recipe.parts, shares, strict=True)
            if share
        ]
        bounds = _bounds(env)
    finally:
        env.close()
    extra = {"replay": "re-rolled"} if recipe.name == "medium-replay" else {}
    metadata = {**describe(actors, recipe, settings), **extra}
    return _dataset(actors.env_id, metadata, pieces, bounds)


def replay_dataset(actors: RunActors, recipe: Recipe, settings: RolloutSettings) -> Dataset:
    """The replay buffer of a run up to the recipe's last step, at most `transitions` rows spread over whole episodes."""
    part = recipe.parts[-1]
    env = make_env(actors.env_id)
    bounds, discrete = _bounds(env), is_discrete(env)
    size, dimensions = env.observation_space.shape[0], 1 if discrete else len(bounds[0])
    rows = read_rows(actors.replay(part.seed), size, dimensions, part.step)
    first = int(env.action_space.start) if discrete else 0
    env.close()
    actions = (
        rows["action"][:, 0].astype(np.int64) + first
        if discrete
        else units.from_unit_from_low(rows["action"], *bounds).astype(np.float32)
    )
    piece = Transitions(
        rows["observation"],
        actions,
        rows["reward"],
        rows["following"],
        rows["terminal"],
        rows["timeout"],
    )
    metadata = {**describe(actors, recipe, settings), "replay": "recorded"}
    data = _dataset(actors.env_id, metadata, [piece], bounds)
    return thin_episodes(data, settings.transitions)


def thin_episodes(data: Dataset, transitions: int) -> Dataset:
    """Every k-th episode, so that the early and the late ones keep their shares."""
    stride = -(-len(data) // transitions)
    return data.select(np.arange(0, data.episode_count, stride)) if stride > 1 else data


def behaviour(policy: Policy | None, low: np.ndarray, high: np.ndarray, noise: float) -> Callable:
    """A policy with exploration noise as a function of (observation, generator); None is uniform."""
    if policy is None:
        return lambda observation, rng: rng.uniform(low, high)
    scale = noise * (high - low) / 2

    def act(observation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(policy(observation) + scale * rng.standard_normal(len(low)), low, high)

    return act


def chance_behaviour(policy: Policy | None, first: int, count: int, noise: float) -> Callable:
    """A policy of discrete actions that takes any action with probability `noise`; None is uniform."""

    def act(observation: np.ndarray, rng: np.random.Generator) -> Any:
        if policy is None or rng.random() < noise:
            return first + rng.integers(count)
        return policy(observation)

    return act


def _bounds(env: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of continuous actions; of discrete ones the first and the last number."""
    space = env.action_space
    if is_discrete(env):
        return np.array([space.start]), np.array([space.start + space.n - 1])
    return space.low, space.high


def _roll_out_part(env, actors: Actors, part: Part, count: int, noise: float) -> Transitions:
    policy = None if part.step == RANDOM_STEP else actors.actor(part.seed, part.step)
    if is_discrete(env):
        act = chance_behaviour(policy, int(env.action_space.start), int(env.action_space.n), noise)
    else:
        act = behaviour(policy, env.action_space.low, env.action_space.high, noise)
    return collect(env, act, count, (ROLLOUT_STREAM, part.seed, part.step))


def _dataset(env_id: str, metadata: dict, pieces: list[Transitions], bounds) -> Dataset:
    starts = np.cumsum([0, *(len(piece.rewards) for piece in pieces[:-1])])
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in Transitions.__dataclass_fields__
    }
    low, high = (np.asarray(bound, np.float32) for bound in bounds)
    origin = Origin(
        source=metadata["name"],
        env_id=env_id,
        action_low=low,
        action_high=high,
        metadata=metadata,
    )
    return Dataset.from_columns(**columns, episode_starts=starts, origin=origin)


def describe(actors: Actors, recipe: Recipe, settings: RolloutSettings) -> dict[str, Any]:
    """Provenance that is written into the file."""
    reference = reference_for(actors.env_id)
    described: dict[str, Any] = {
        "name": recipe.name,
        "description": recipe.description,
        "parts": [{"seed": part.seed, "step": part.step} for part in recipe.parts],
        "actors": actors.kind,
        "rollout": {"transitions": settings.transitions, "noise": settings.noise},
        "collector": f"{actors.collector} revision {REVISION}",
        "software": software_versions(),
    }
    if reference is not None:
        described["reference_returns"] = [reference.low, reference.high]
    return described


def summarise(data: Dataset, path: Path | None = None) -> dict[str, Any]:
    """What the index of a collection says about one dataset."""
    returns = data.episode_returns
    reference = reference_for(data.env_id)
    return {
        "name": data.origin.metadata.get("name", data.origin.source),
        "file": None if path is None else path.name,
        "transitions": len(data),
        "episodes": data.episode_count,
        "mean_return": round(float(returns.mean()), 3),
        "normalised": None
        if reference is None
        else round(float(reference.normalise(returns.mean())), 2),
        "fingerprint": data.fingerprint,
        **{k: v for k, v in data.origin.metadata.items() if k != "name"},
    }


def software_versions() -> dict[str, str | None]:
    """Versions that decide whether a rollout can be repeated bit for bit."""
    return {name: package_version(name) for name in ("gymnasium", "mujoco", "numpy", "jax")}
