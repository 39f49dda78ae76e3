"""The further grids of the verdict: cloning the best part, and other worlds. What they would train, without training it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlassay import formats
from rlassay.collect.graded import RolloutSettings
from rlassay.collect.sources import ZooActors
from rlassay.data.dataset import Dataset
from rlassay.study import parts, worlds
from rlassay.study.grid import plan
from rlassay.study.grid.data import StudyData, identity_of
from rlassay.study.verdict import features
from rlassay.verdict.parts import BEST_PART


def episodes(returns: list[float], steps: int = 5) -> Dataset:
    """One episode a return, paid in equal shares."""
    count, rng = len(returns), np.random.default_rng(0)
    rewards = np.repeat(np.array(returns, np.float32) / steps, steps)
    timeouts = np.tile(np.arange(steps) == steps - 1, count)
    observations = rng.normal(size=(count * steps, 2)).astype(np.float32)
    return Dataset.from_columns(
        observations=observations,
        actions=rng.uniform(-1, 1, (count * steps, 1)).astype(np.float32),
        rewards=rewards,
        next_observations=observations,
        terminals=np.zeros(count * steps, bool),
        timeouts=timeouts,
        episode_starts=np.arange(0, count * steps, steps),
    )


def test_the_best_part_is_what_the_command_of_the_advice_keeps(tmp_path):
    from typer.testing import CliRunner

    from rlassay.cli import app

    data = episodes([float(value) for value in np.random.default_rng(1).permutation(20)])
    kept = parts.best_part(data)
    assert sorted(kept.episode_returns) == pytest.approx([16, 17, 18, 19], abs=1e-5)
    source, out = tmp_path / "all.npz", tmp_path / "best.npz"
    formats.save(data, source)
    words = ["curate", str(source), "--keep", f"{BEST_PART:g}", "--by", "return", "-o", str(out)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert formats.load(out).fingerprint == kept.fingerprint


def test_a_part_is_stored_under_an_identity_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))
    path = tmp_path / "whole.npz"
    data = episodes([1.0, 2, 3, 4, 5])
    formats.save(data, path)
    whole = StudyData("Hopper-v5", "run-mix", path, data.fingerprint, "abc")
    part = parts.stored_best_part(whole)
    assert part.name == "run-mix" and part.identity != whole.identity and part.path.exists()
    assert formats.load(part.path).episode_returns == pytest.approx([5.0])
    assert parts.stored_best_part(whole) == part
    cells = parts.part_cells([part])
    assert [cell.columns["variant"] for cell in cells] == ["best-part"]
    assert cells[0].task.settings["settings"]["updates"] == 150_000
    assert len(parts.DATASETS) * len(plan.ENVIRONMENTS) == 48


@pytest.mark.parametrize("env_id", worlds.STEPS)
def test_every_actor_of_a_world_is_kept(env_id):
    world = worlds.World(env_id)
    recipes = world.recipes()
    assert tuple(recipes) == worlds.DATASETS and len(recipes) == 6
    kept = {0, *world.stages.values()}
    assert all(step % world.settings.eval_every == 0 for step in kept)
    assert {part.step for recipe in recipes.values() for part in recipe.parts} == kept
    assert max(kept) == world.settings.steps


def test_the_grid_of_the_worlds():
    data = {
        env_id: {name: StudyData(env_id, name, Path(name), "", name) for name in worlds.DATASETS}
        for env_id in worlds.STEPS
    }
    cells = worlds.world_cells(data)
    assert len(cells) == 54 == len({cell.task.key for cell in cells})
    assert {cell.columns["agent"] for cell in cells} == set(worlds.AGENTS)
    assert all(cell.task.settings["settings"]["updates"] == 50_000 for cell in cells)
    assert not set(worlds.DATASETS) & {*plan.MIXTURES, *plan.OTHERS, *plan.CONFLICT_MIXTURES}


def test_references_are_of_random_actions_and_of_the_best_actor(monkeypatch):
    runs = {
        str(seed): {
            "actors": {
                "5": {"mean_return": value, "standard_error": 1.0},
                "10": {"mean_return": value - 100, "standard_error": 2.0},
            },
            "curve": [[5, value]],
        }
        for seed, value in ((0, -300.0), (1, -150.0))
    }
    actors = ZooActors(
        "Pendulum-v1", Path("nowhere"), {"environments": {"Pendulum-v1": {"runs": runs}}}
    )
    monkeypatch.setattr(worlds, "RANDOM_EPISODES", 4)
    row = worlds.reference_row(actors)
    assert row["high"] == -150.0 and row["high_error"] == 1.0 and row["episodes"] == 4
    assert -2_000 < row["low"] < -600  # what uniform torques earn on Pendulum
    assert row == worlds.reference_row(actors)


def test_a_world_is_trained_once_and_kept_in_a_zoo_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(worlds, "STEPS", {"Pendulum-v1": 1_000, "Reacher-v5": 1_000})
    world = worlds.World("Pendulum-v1")
    small = replace(world.settings, random_steps=900, eval_episodes=1, batch_size=8, hidden=4)
    monkeypatch.setattr(worlds.World, "settings", small)
    assert worlds.known_worlds(tmp_path) == []
    worlds.train_actors(tmp_path, world, print)
    assert worlds.known_worlds(tmp_path) == ["Pendulum-v1"]
    told: list[str] = []
    worlds.train_actors(tmp_path, world, told.append)
    assert told == [] and not (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize("kind", features.TASKS)
def test_features_of_every_world_have_keys_of_their_own(kind):
    """Uniform actions have no weights, so their recipe is the same in every environment."""
    zoo = worlds.zoo_of_worlds(Path(__file__).parents[2] / "zoo")
    data = []
    for env_id in worlds.STEPS:
        actors = ZooActors.open(zoo, env_id)
        for name, recipe in worlds.World(env_id).recipes().items():
            identity = identity_of(actors, recipe, RolloutSettings(plan.LONG.transitions))
            data.append(StudyData(env_id, name, Path(name), identity, identity))
    assert len({each.identity for each in data}) < len(data) == 18
    keys = {cell.task.key for cell in features.feature_cells(data, kind)}
    assert len(keys) == 18
