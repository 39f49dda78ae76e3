"""Trainings: equal seeds are equal bits, a stopped one goes on as if it never stopped, mistakes are one sentence."""

import csv
import hashlib
import json

import jax
import numpy as np
import pytest
from agent_problems import learn

from probes import walks, with_columns
from rlassay.agents import AGENTS, SEVEN, Shapes, register_agent, train_agent
from rlassay.agents.columns import make_columns, reward_scale
from rlassay.agents.training import make_settings
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.policy import Policy

ENV = "Pendulum-v1"  # three observations, one action in [-2, 2], no reference returns
DATA = walks(episodes=6, length=30, dims=(3, 1), bounds=2.0, env_id=ENV)
PLAN = {"width": 8, "batch_size": 8, "updates": 24, "eval_every": 8, "eval_episodes": 1}


class Stop(Exception):
    pass


def stop_at(updates):
    def report(done, news):
        if done >= updates and news:
            raise Stop

    return report


def files(folder):
    return (folder / "policy.safetensors").read_bytes(), (folder / "log.csv").read_text()


@pytest.mark.parametrize("agent", SEVEN)
def test_resumed_equals_uninterrupted_bit_by_bit(agent, tmp_path):
    whole = train_agent(agent, DATA, folder=tmp_path / "whole", settings=PLAN)
    with pytest.raises(Stop):
        train_agent(agent, DATA, folder=tmp_path / "parts", settings=PLAN, report=stop_at(8))
    interrupted = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert interrupted["updates"] == 8
    resumed = train_agent(agent, DATA, folder=tmp_path / "parts", settings=PLAN)
    assert [e.returns for e in resumed.evaluations] == [e.returns for e in whole.evaluations]
    assert len(whole.evaluations) == 3
    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    with (
        np.load(tmp_path / "whole" / "state.npz") as a,
        np.load(tmp_path / "parts" / "state.npz") as b,
    ):
        leaves = [name for name in a.files if name.startswith("leaf")]
        assert all((a[name] == b[name]).all() for name in leaves)


def test_another_seed_is_another_run(tmp_path):
    first = train_agent("bc", DATA, folder=tmp_path / "0", settings=PLAN)
    second = train_agent("bc", DATA, folder=tmp_path / "1", settings=PLAN, seed=1)
    assert first.last.returns != second.last.returns


def test_a_complete_run_is_read_not_repeated(tmp_path):
    train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    heard = []
    again = train_agent(
        "bc", DATA, folder=tmp_path, settings=PLAN, report=lambda *n: heard.append(n)
    )
    assert again.updates == 24 and heard == []
    with pytest.raises(SettingsError, match="other settings"):
        train_agent("bc", DATA, folder=tmp_path, settings=PLAN | {"width": 9})


def test_what_a_run_writes(tmp_path):
    run = train_agent("iql", DATA, folder=tmp_path, settings=PLAN | {"eval_episodes": 3}).to_json()
    assert json.loads((tmp_path / "run.json").read_text()) == run
    assert run["schema"] == "rlassay.run/1" and run["agent"] == "iql" and run["env_id"] == ENV
    assert run["score"] is None and run["return"]["value"] == np.mean(run["curve"][-1]["returns"])
    low, high = run["return"]["interval"]
    assert low < run["return"]["value"] < high
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert [row["update"] for row in rows] == ["8", "16", "24"]
    policy = Policy.load(tmp_path / "policy.safetensors")
    assert policy.metadata["agent"] == "iql" and np.abs(policy(DATA.observations)).max() <= 2


@pytest.mark.parametrize("agent", SEVEN)
def test_the_saved_policy_acts_as_the_agent(agent):
    made, state, policy = learn(
        agent, DATA, updates=2, width=4, batch_size=4, normalise_observations=True
    )
    x = (DATA.observations - policy.mean) / policy.scale
    assert policy.scale.max() != 1
    np.testing.assert_allclose(policy(DATA.observations), made.act(state, x), atol=2e-6)


def test_a_score_where_the_environment_has_reference_returns(tmp_path):
    data = walks(episodes=3, length=20, dims=(11, 3))
    run = train_agent("bc", data, "Hopper-v5", folder=tmp_path, settings=PLAN).to_json()
    expected = 100 * (run["return"]["value"] + 20.272305) / (3234.3 + 20.272305)
    assert run["score"]["value"] == pytest.approx(expected)
    assert "D4RL" in run["reference"]["note"]


def test_the_score_is_the_mean_of_the_last_evaluations(tmp_path):
    plan = PLAN | {"eval_episodes": 1, "final_evaluations": 2, "final_eval_episodes": 3}
    run = train_agent("bc", DATA, folder=tmp_path, settings=plan).to_json()
    assert [len(point["returns"]) for point in run["curve"]] == [1, 3, 3]
    last = [point["return"] for point in run["curve"][-2:]]
    assert run["return"]["value"] == pytest.approx(np.mean(last))
    assert run["seconds"]["evaluation"] < run["seconds"]["total"]
    saved = (tmp_path / "policy.safetensors").read_bytes()
    assert run["policy_sha256"] == hashlib.sha256(saved).hexdigest()
    assert train_agent("bc", DATA, folder=tmp_path, settings=plan).to_json() == run


def test_a_diverged_run_keeps_its_last_finite_policy(tmp_path):
    huge = with_columns(DATA, rewards=np.full(len(DATA), 1e30, np.float32))
    plan = PLAN | {"learning_rate": 1e3}
    run = train_agent("td3bc", huge, folder=tmp_path, settings=plan)
    assert run.diverged_at is not None and run.evaluations[-1].update == run.updates
    assert np.isfinite(Policy.load(tmp_path / "policy.safetensors")(DATA.observations)).all()
    assert train_agent("td3bc", huge, folder=tmp_path, settings=plan).diverged_at == run.diverged_at


def test_weights_choose_what_is_learned(tmp_path):
    high = DATA.actions[:, 0] > 0.5
    plan = {
        "width": 16,
        "batch_size": 32,
        "updates": 300,
        "eval_every": 300,
        "learning_rate": 3e-3,
        "eval_episodes": 1,
    }
    train_agent("bc", DATA, folder=tmp_path, settings=plan, weights=high.astype(float))
    actions = Policy.load(tmp_path / "policy.safetensors")(DATA.observations[high])
    assert actions.mean() > 0.5 > DATA.actions.mean()
    with pytest.raises(DatasetError, match="weights"):
        train_agent("bc", DATA, folder=tmp_path / "x", settings=plan, weights=np.ones(3))


def test_rows_without_a_known_successor_are_cloned_but_not_bootstrapped():
    cut = Dataset.from_columns(
        observations=DATA.observations,
        actions=DATA.actions,
        rewards=DATA.rewards,
        terminals=DATA.terminals,
        timeouts=DATA.timeouts,
        origin=DATA.origin,
    )
    used = {}
    for agent in ("bc", "iql", "onestep"):
        settings = make_settings(agent, None)
        _, _, used[agent] = make_columns(
            cut, AGENTS[agent], settings, -2 * np.ones(1), 2 * np.ones(1)
        )
    assert len(used["bc"]) == len(cut)
    assert not cut.timeouts[used["iql"]].any() and len(used["iql"]) == len(cut) - 6
    assert np.array_equal(used["onestep"], cut.sarsa_rows)


def test_return_range_scaling_is_guarded():
    rewards = np.full(len(DATA), 11.0, np.float32)
    rewards[0] += 0.01  # six episodes with almost the same return
    equal = with_columns(DATA, rewards=rewards)
    assert reward_scale(equal, "return_range") == pytest.approx(1 / 11, rel=1e-3)
    long = walks(episodes=20, length=100, dims=(3, 1))
    rare = with_columns(long, rewards=(np.arange(len(long)) == 7) * np.float32(50))
    assert reward_scale(rare, "return_range") == pytest.approx(1000 / 50)  # the official factor
    assert reward_scale(equal, "mean") == pytest.approx(0.1 / 11, rel=1e-3)
    assert reward_scale(with_columns(DATA, rewards=np.zeros(len(DATA))), "mean") == 1.0


def test_mistakes_are_one_sentence(tmp_path):
    with pytest.raises(DatasetError, match="is not from Hopper-v5.*observations of 11"):
        train_agent("bc", DATA, "Hopper-v5", folder=tmp_path)
    with pytest.raises(SettingsError, match="unknown agent.*iql"):
        train_agent("sac", DATA, folder=tmp_path)
    with pytest.raises(SettingsError, match="cannot make the environment"):
        train_agent("bc", DATA, "Hoper-v5", folder=tmp_path)
    with pytest.raises(SettingsError, match="does not name its environment"):
        train_agent("iql", walks(3, 5, dims=(3, 1)), folder=tmp_path)
    with pytest.raises(DatasetError, match="no rewards.*bc"):
        train_agent("iql", with_columns(DATA, rewards=None), folder=tmp_path)
    discrete = with_columns(DATA, actions=np.zeros((len(DATA), 1), np.int64))
    with pytest.raises(DatasetError, match="discrete actions"):
        train_agent("iql", discrete, folder=tmp_path)


def test_cloning_needs_no_rewards(tmp_path):
    run = train_agent("bc", with_columns(DATA, rewards=None), folder=tmp_path, settings=PLAN)
    assert run.updates == 24


def test_a_third_partys_agent_trains(tmp_path):
    kind = AGENTS["bc"]
    register_agent("mine", kind.make, kind.settings, revision=7, rows="all", needs_rewards=False)
    try:
        run = train_agent("mine", DATA, folder=tmp_path, settings=PLAN)
        assert run.to_json()["revision"] == 7
        with pytest.raises(SettingsError, match="taken"):
            register_agent("mine", AGENTS["iql"].make, kind.settings, revision=1)
    finally:
        AGENTS.pop("mine")


def test_tensorboard_and_wandb_receive_the_numbers(tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = train_agent("bc", DATA, folder=tmp_path, settings=PLAN, track=["tensorboard", "wandb"])
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    points = events.Scalars("return")
    assert [point.step for point in points] == [8, 16, 24]
    assert points[-1].value == pytest.approx(run.last.mean, rel=1e-5)
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    with pytest.raises(SettingsError, match="unknown tracker"):
        train_agent("bc", DATA, folder=tmp_path / "y", settings=PLAN, track=["excel"])


def test_shapes_and_state_are_plain_pytrees():
    agent = AGENTS["cql"].make(make_settings("cql", {"width": 4}), Shapes(3, 1))
    leaves = jax.tree.leaves(agent.init(0))
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
