"""DQN learns, a stopped run goes on in the same bits, and its actors become graded data of whole numbers."""

import numpy as np
import pytest

from rlassay import formats
from rlassay.collect import collect
from rlassay.collect.dqn import Trainer
from rlassay.collect.graded import RolloutSettings, chance_behaviour, replay_dataset, roll_out
from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.settings import CollectSettings, DQNSettings, TD3Settings, levels_of
from rlassay.collect.sources import RunActors
from rlassay.data.dataset import Dataset
from rlassay.errors import SettingsError
from rlassay.rollout import evaluate

ENV = "CartPole-v1"
SMALL = DQNSettings(
    steps=600,
    random_steps=100,
    batch_size=16,
    hidden=16,
    exploration_steps=300,
    eval_every=200,
    eval_episodes=2,
    checkpoint_every=150,
)


@pytest.fixture(scope="module")
def actors(tmp_path_factory) -> RunActors:
    folder = tmp_path_factory.mktemp("dqn") / "whole"
    Trainer(ENV, 3, folder, SMALL).run()
    return RunActors(ENV, {3: folder}, collector="dqn")


def files(folder):
    with np.load(folder / "state.npz") as archive:
        found = {name: archive[name].tobytes() for name in archive.files}
    found |= {path.name: path.read_bytes() for path in (folder / "actors").iterdir()}
    return found | {name: (folder / name).read_bytes() for name in ("replay.bin", "curve.csv")}


def test_it_learns_cartpole(tmp_path):
    settings = DQNSettings(steps=6_000, hidden=64, exploration_steps=2_000, eval_every=6_000)
    trainer = Trainer(ENV, 0, tmp_path, settings)
    before = evaluate(trainer.policy(), ENV, episodes=10, seed=1).mean
    trainer.run()
    assert evaluate(trainer.policy(), ENV, episodes=10, seed=1).mean > before + 60


def test_a_stopped_run_ends_in_the_same_bits(actors, tmp_path):
    class Stop(Exception):
        pass

    def stop(point):
        if point.step == 400:
            raise Stop

    with pytest.raises(Stop):
        Trainer(ENV, 3, tmp_path / "parts", SMALL).run(stop)
    Trainer(ENV, 3, tmp_path / "parts", SMALL).run()
    assert files(tmp_path / "parts") == files(actors.folders[3])


def test_rollouts_are_whole_numbers_with_a_stated_share_of_chance(actors):
    recipe = Recipe("mixed", (Part(3, RANDOM_STEP), Part(3, 600)), "half random")
    data = roll_out(actors, recipe, RolloutSettings(400, noise=0.2))
    assert data.discrete_actions
    assert [bound.tolist() for bound in data.action_bounds()[:2]] == [[0], [1]]  # the file says so
    assert data.origin.metadata["collector"] == "dqn revision 1"
    assert 0.3 < data.actions[:200].mean() < 0.7
    again = roll_out(actors, recipe, RolloutSettings(400, noise=0.2))
    assert again.fingerprint == data.fingerprint


@pytest.mark.parametrize(("noise", "share"), [(0.0, 0.0), (0.4, 0.3), (1.0, 0.75)])
def test_noise_is_the_probability_of_any_action(noise, share):
    act = chance_behaviour(lambda observation: 2, 1, 4, noise)
    rng = np.random.default_rng(0)
    drawn = np.array([act(np.zeros(3), rng) for _ in range(4_000)])
    assert (drawn != 2).mean() == pytest.approx(share, abs=0.03)
    assert set(drawn.tolist()) <= {1, 2, 3, 4}


def test_the_replay_is_what_the_run_did(actors):
    recipe = Recipe("medium-replay", (Part(3, 600),), "all of it")
    data = replay_dataset(actors, recipe, RolloutSettings(600))
    assert isinstance(data, Dataset) and data.discrete_actions and len(data) == 600
    assert set(np.unique(data.actions)) == {0, 1} and data.origin.metadata["replay"] == "recorded"


def test_levels_are_the_same_shares_of_a_shorter_training():
    cart, acrobot = (DQNSettings().for_environment(e) for e in (ENV, "Acrobot-v1"))
    assert levels_of(CollectSettings(), cart) == (0, 2000, 6000, 12000, 18000, 24000, 30000)
    assert levels_of(CollectSettings(), acrobot) == (0, 3000, 12000, 24000, 36000, 48000, 60000)
    chosen = CollectSettings(levels=(0, 1000))
    assert levels_of(chosen, cart) == (0, 1000)
    assert levels_of(CollectSettings(), TD3Settings()) == CollectSettings().levels


def test_collect_writes_graded_discrete_data(tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))
    settings = CollectSettings(dqn=SMALL, levels=(0, 600), transitions=150)
    collection = collect(ENV, tmp_path / "out", seeds=1, settings=settings)
    names = [entry["name"] for entry in collection.datasets]
    mixes = ["random", "medium", "medium-replay", "medium-expert", "expert"]
    assert names == ["level-random", "level-0k", *mixes]
    data = formats.load(tmp_path / "out" / "cartpole-expert-v1.hdf5")
    assert data.discrete_actions and data.env_id == ENV and len(data) == 150
    with pytest.raises(SettingsError, match="multiples of dqn.eval_every = 200"):
        collect(ENV, tmp_path / "other", settings=CollectSettings(dqn=SMALL, levels=(0, 150)))
