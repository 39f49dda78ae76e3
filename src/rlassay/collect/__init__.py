"""Graded data with known provenance: train TD3 or DQN online, keep its actors, roll them out at every level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlassay.collect.settings import CollectSettings, DQNSettings, TD3Settings, levels_of
from rlassay.errors import DatasetError, SettingsError

if TYPE_CHECKING:
    from rlassay.collect.graded import RolloutSettings
    from rlassay.collect.recipes import Recipe
    from rlassay.collect.sources import Actors
    from rlassay.data.dataset import Dataset

SCHEMA = "rlassay.collection/1"
INDEX = "index.json"


@dataclass(frozen=True)
class Collection:
    """What a collection wrote: a summary a dataset."""

    env_id: str
    folder: Path
    datasets: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "env_id": self.env_id,
            "folder": str(self.folder),
            "datasets": self.datasets,
        }


def collect(
    env_id: str,
    out: str | Path,
    *,
    seeds: int = 2,
    seed: int = 0,
    zoo: str | Path | None = None,
    settings: CollectSettings | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Collection:
    """Train (or take from `zoo`), then write one dataset a level and D4RL's mixes into `out`.

    Runs continue where they were stopped, and datasets that are already whole are not written again.
    """
    settings = settings or CollectSettings()
    discrete = _has_discrete_actions(env_id)
    online = settings.dqn.for_environment(env_id) if discrete else settings.td3
    settings = replace(settings, levels=levels_of(settings, online))
    _check(settings, online)
    actors = _actors(env_id, seeds, seed, zoo, settings.levels, online)
    folder = Path(out)
    datasets = []
    for recipe in _recipes(actors, settings):
        datasets.append(_write(actors, recipe, folder, settings, report))
    collection = Collection(env_id, folder, datasets)
    from rlassay.engine.files import write_json

    write_json(folder / INDEX, collection.to_dict())
    return collection


def _has_discrete_actions(env_id: str) -> bool:
    from rlassay.rollout import is_discrete, make_env

    env = make_env(env_id)
    env.close()
    return is_discrete(env)


def _check(settings: CollectSettings, online: TD3Settings | DQNSettings) -> None:
    every = online.eval_every
    name = "td3" if isinstance(online, TD3Settings) else "dqn"
    uneven = [step for step in settings.levels if step % every]
    if uneven or not settings.levels:
        raise SettingsError(
            "a level is not an evaluated step",
            allowed=f"multiples of {name}.eval_every = {every:,}",
            got=uneven or "no level",
        )
    if settings.transitions < 1 or settings.noise < 0:
        raise SettingsError("transitions must be at least 1 and noise at least 0")


def _actors(
    env_id: str,
    seeds: int,
    seed: int,
    zoo: Any,
    levels: tuple[int, ...],
    online: TD3Settings | DQNSettings,
) -> Actors:
    from rlassay.collect import runs
    from rlassay.collect.sources import ZooActors

    if zoo is not None:
        return ZooActors.open(Path(zoo), env_id)
    numbers = list(range(seed, seed + seeds))
    online = replace(online, steps=max(max(levels), online.eval_every))
    runs.train_all(env_id, numbers, online)
    return runs.run_actors(env_id, numbers, online)


def _recipes(actors: Actors, settings: CollectSettings) -> list[Recipe]:
    from rlassay.collect.recipes import level_recipes, mix_recipes

    recipes = level_recipes(actors.seeds(), settings.levels)
    return recipes + (mix_recipes(actors, actors.seeds()[0]) if settings.mixes else [])


def _write(
    actors, recipe: Recipe, folder: Path, settings: CollectSettings, report
) -> dict[str, Any]:
    from rlassay import formats
    from rlassay.collect.graded import RolloutSettings, describe, summarise

    wanted_formats = ("d4rl", "minari") if settings.format == "both" else (settings.format,)
    paths = {name: folder / _file_name(actors.env_id, recipe.name, name) for name in wanted_formats}
    rollout = RolloutSettings(settings.transitions, settings.noise)
    wanted = describe(actors, recipe, rollout)
    known = {name: _existing(path, wanted) for name, path in paths.items()}
    data = next((found for found in known.values() if found is not None), None)
    if data is None:
        data = make_dataset(actors, recipe, rollout)
    for name, path in paths.items():
        if known[name] is None:
            formats.save(data, path, format=name)
    summary = summarise(data, paths[wanted_formats[0]])
    report(
        f"{recipe.name}: {summary['transitions']:,} transitions, mean return {summary['mean_return']}"
    )
    return summary


def make_dataset(actors: Actors, recipe: Recipe, rollout: RolloutSettings) -> Dataset:
    """The rows of a recipe: the run's own replay buffer where there is one, rollouts elsewhere."""
    from rlassay.collect.graded import replay_dataset, roll_out
    from rlassay.collect.sources import RunActors

    if recipe.name == "medium-replay" and isinstance(actors, RunActors):
        return replay_dataset(actors, recipe, rollout)
    return roll_out(actors, recipe, rollout)


def _file_name(env_id: str, name: str, kind: str) -> str:
    stem = env_id.lower()
    family, _, version = stem.rpartition("-")
    return f"{family}-{name}-{version}.hdf5" if kind == "d4rl" else f"{family}/{name}-v0"


def _existing(path: Path, wanted: dict[str, Any]) -> Dataset | None:
    """A dataset that an earlier call wrote with the same provenance; one of another kind is refused, not replaced."""
    from rlassay import formats

    if not path.exists():
        return None
    data = formats.load(path)
    found = {key: data.origin.metadata.get(key) for key in wanted}
    if found != wanted:
        raise DatasetError(
            f"{path} was made from other actors or settings",
            remedy="name another folder with -o, or remove the file",
        )
    return data
