"""Graded datasets: shares, provenance, mixes, the zoo, and files that are whole or absent."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from rlassay import formats
from rlassay.collect import collect
from rlassay.collect.graded import RolloutSettings, roll_out, thin_episodes
from rlassay.collect.recipes import (
    Part,
    Recipe,
    level_name,
    level_recipes,
    medium_step,
    mix_recipes,
)
from rlassay.collect.settings import CollectSettings, TD3Settings
from rlassay.collect.sources import ZooActors
from rlassay.collect.zoo import add_to_zoo
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.policy import Policy
from rlassay.rollout import evaluate

TINY = CollectSettings(
    td3=TD3Settings(
        random_steps=200,
        batch_size=16,
        hidden=8,
        eval_every=400,
        eval_episodes=1,
        checkpoint_every=400,
    ),
    levels=(0, 400, 1_200),
    transitions=900,
)


class Curve:
    """Actors of which only the learning curve matters."""

    kind, env_id, collector = "runs", "Pendulum-v1", "td3"

    def __init__(self, values):
        self.values = values

    def seeds(self):
        return [0]

    def steps(self, seed):
        return [step for step, _ in self.curve(seed)]

    def curve(self, seed):
        return [(10 * (k + 1), value) for k, value in enumerate(self.values)]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLASSAY_STORE", str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture(scope="module")
def collection(store, tmp_path_factory):
    return collect("Pendulum-v1", tmp_path_factory.mktemp("out"), seeds=2, settings=TINY)


def test_level_names_are_the_papers():
    assert [level_name(step) for step in (0, 50_000, 1_000_000)] == [
        "level-random",
        "level-50k",
        "level-1000k",
    ]


def test_medium_is_a_third_of_the_way_to_expert():
    assert medium_step(Curve([0, 10, 20, 30, 40, 50, 90, 90, 90, 90, 90]), 0) == 40
    assert medium_step(Curve([-300, -290, -200, -150, -100, -100, -100, -100, -100, -100]), 0) == 30
    assert medium_step(Curve([0, -30]), 0) == 10  # a run that got worse: what comes nearest
    with pytest.raises(SettingsError, match="too short"):
        medium_step(Curve([1.0]), 0)


def test_mixes_follow_d4rl():
    recipes = {r.name: r for r in mix_recipes(Curve([0, 10, 20, 30, 40, 90, 90, 90, 90, 90]), 0)}
    assert list(recipes) == ["random", "medium", "medium-replay", "medium-expert", "expert"]
    assert recipes["expert"].parts == (Part(0, 100),)
    assert recipes["medium"].parts == (Part(0, 40),)
    assert recipes["medium-replay"].parts == tuple(Part(0, s) for s in (10, 20, 30, 40))
    assert recipes["medium-expert"].parts == (Part(0, 40), Part(0, 100))


def test_levels_take_all_seeds_in_equal_shares(collection):
    recipe = level_recipes([4, 7], [400])[0]
    assert recipe.parts == (Part(4, 400), Part(7, 400))
    data = formats.load(collection.folder / "pendulum-level-0k-v1.hdf5")
    assert len(data) == TINY.transitions
    assert 450 in data.episode_starts  # the second seed begins at half of the rows


def test_every_dataset_is_written_and_described(collection):
    names = [summary["name"] for summary in collection.datasets]
    assert names == [
        "level-random",
        "level-0k",
        "level-1k",
        "random",
        "medium",
        "medium-replay",
        "medium-expert",
        "expert",
    ]
    index = json.loads((collection.folder / "index.json").read_text())
    assert [entry["name"] for entry in index["datasets"]] == names
    data = formats.load(collection.folder / "pendulum-expert-v1.hdf5")
    about = data.origin.metadata
    assert about["parts"] == [{"seed": 0, "step": 1_200}]
    assert about["rollout"] == {"noise": 0.1, "transitions": 900}
    assert about["software"]["gymnasium"]
    assert data.env_id == "Pendulum-v1"
    assert data.next_valid.all()
    replay = formats.load(collection.folder / "pendulum-medium-replay-v1.hdf5")
    assert replay.origin.metadata["replay"] == "recorded"


def test_second_run_redoes_nothing_and_other_settings_are_refused(collection):
    path = collection.folder / "pendulum-expert-v1.hdf5"
    before = path.stat().st_mtime_ns
    again = collect("Pendulum-v1", collection.folder, seeds=2, settings=TINY)
    assert path.stat().st_mtime_ns == before
    assert again.datasets == collection.datasets
    with pytest.raises(DatasetError, match="other actors or settings"):
        collect("Pendulum-v1", collection.folder, seeds=2, settings=replace(TINY, noise=0.2))


def test_half_written_file_is_never_taken_for_a_whole_one(collection, tmp_path):
    whole = (collection.folder / "pendulum-expert-v1.hdf5").read_bytes()
    half = tmp_path / ".pendulum-expert-v1.hdf5.x.part"
    half.write_bytes(whole[: len(whole) // 2])
    os.utime(half, (0, 0))  # long ago: nobody is writing it any more
    written = collect("Pendulum-v1", tmp_path, seeds=2, settings=TINY)
    assert [d["fingerprint"] for d in written.datasets] == [
        d["fingerprint"] for d in collection.datasets
    ]


def test_zoo_gives_the_same_levels_again(collection, tmp_path, store):
    from rlassay.collect.runs import run_actors

    actors = run_actors("Pendulum-v1", [0, 1], replace(TINY.td3, steps=1_200))
    for _ in range(2):  # a second call adds nothing
        add_to_zoo(tmp_path / "zoo", actors, levels=TINY.levels, settings={}, replay_seed=0)
    zoo = ZooActors.open(tmp_path / "zoo", "Pendulum-v1")
    assert zoo.seeds() == [0, 1]
    assert zoo.steps(1) == [400, 1_200]
    first = collect("Pendulum-v1", tmp_path / "a", zoo=tmp_path / "zoo", settings=TINY)
    second = collect("Pendulum-v1", tmp_path / "b", zoo=tmp_path / "zoo", settings=TINY)
    assert [d["fingerprint"] for d in first.datasets] == [d["fingerprint"] for d in second.datasets]
    replay = next(d for d in first.datasets if d["name"] == "medium-replay")
    assert replay["replay"] == "re-rolled"
    with pytest.raises(SettingsError, match="Pendulum-v1"):
        ZooActors.open(tmp_path / "zoo", "Hopper-v5")
    with pytest.raises(DatasetError, match="no zoo"):
        ZooActors.open(tmp_path, "Pendulum-v1")


def test_noise_and_transitions_change_the_data(collection, store):
    from rlassay.collect.runs import run_actors

    actors = run_actors("Pendulum-v1", [0], replace(TINY.td3, steps=1_200))
    recipe = Recipe("x", (Part(0, 1_200),), "")
    quiet = roll_out(actors, recipe, RolloutSettings(transitions=200, noise=0.0))
    noisy = roll_out(actors, recipe, RolloutSettings(transitions=200, noise=0.3))
    assert len(quiet) == 200
    assert quiet.fingerprint != noisy.fingerprint
    policy = actors.actor(0, 1_200)
    np.testing.assert_allclose(quiet.actions, policy(quiet.observations), rtol=1e-5, atol=1e-6)


def test_thinning_keeps_whole_episodes_of_the_whole_run():
    ends = np.zeros(100, bool)
    ends[9::10] = True
    data = Dataset.from_columns(
        observations=np.arange(100.0), actions=np.zeros(100), rewards=np.ones(100), terminals=ends
    )
    thin = thin_episodes(data, 50)
    assert thin.observations[:, 0].tolist() == [
        v for k in range(0, 10, 2) for v in range(10 * k, 10 * k + 10)
    ]
    assert thin_episodes(data, 100) is data


@pytest.mark.parametrize(
    "change", [{"levels": (0, 450)}, {"levels": ()}, {"transitions": 0}, {"noise": -1.0}]
)
def test_bad_settings_are_refused(tmp_path, change):
    with pytest.raises(SettingsError):
        collect("Pendulum-v1", tmp_path, settings=replace(TINY, **change))


def test_half_precision_keeps_the_policy(tmp_path):
    rng = np.random.default_rng(0)
    policy = Policy(
        (rng.normal(size=(3, 8)).astype(np.float32), rng.normal(size=(8, 1)).astype(np.float32)),
        (np.zeros(8, np.float32), np.zeros(1, np.float32)),
        np.array([-2.0]),
        np.array([2.0]),
        np.zeros(3),
        np.ones(3),
        metadata={"step": "7"},
    )
    policy.save(tmp_path / "p.safetensors", half=True)
    loaded = Policy.load(tmp_path / "p.safetensors")
    observations = rng.normal(size=(50, 3))
    np.testing.assert_allclose(loaded(observations), policy(observations), atol=5e-3)
    assert loaded.metadata == {"step": "7"}
    assert evaluate(loaded, "Pendulum-v1", episodes=2, seed=0).lengths.tolist() == [200, 200]
