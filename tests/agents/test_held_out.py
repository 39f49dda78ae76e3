"""Training without a simulator: the held-out error against a calculation by hand, early stopping, longer runs, odd files."""

import json
import subprocess
import sys

import numpy as np
import pytest

import rlassay
from probes import dataset, walks, with_columns
from rlassay.agents import train_agent
from rlassay.agents.held_out import Examples, split_rows
from rlassay.agents.spaces import space_of_data
from rlassay.errors import DatasetError, SettingsError
from rlassay.policy import Policy

PLAN = {"width": 8, "batch_size": 16, "updates": 24, "eval_every": 8, "learning_rate": 1e-2}


def demonstrations(episodes=8, length=20, seed=0, **changes):
    """No rewards, no environment: the action is a linear function of the state, with a little noise."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(episodes * length, 3)).astype(np.float32)
    actions = np.tanh(states[:, :2] * [1.0, -0.5]) + 0.05 * rng.normal(size=(len(states), 2))
    timeouts = np.arange(len(states)) % length == length - 1
    columns = {"observations": states, "actions": actions, "rewards": None, "timeouts": timeouts}
    return dataset(bounds=None, **(columns | changes))


def choices(**changes):
    """The same with two discrete actions."""
    data = demonstrations()
    numbers = (data.actions[:, 0] > 0).astype(np.int64)
    return with_columns(data, actions=numbers, **changes)


def outputs(folder):
    return [(folder / name).read_bytes() for name in ("policy.safetensors", "log.csv")]


def test_a_run_without_a_simulator_says_what_it_measured(tmp_path):
    data = demonstrations()
    run = train_agent("bc", data, folder=tmp_path, settings=PLAN).to_json()
    assert json.loads((tmp_path / "run.json").read_text()) == run
    assert run["score"] is None and run["return"] is None and run["env_id"] is None
    found = run["held_out"]
    assert found["interval"] is None and found["episodes"] == 1  # one of eight
    assert "does not name its environment" in found["reason"] and "mean action" in found["unit"]
    assert [point["update"] for point in run["curve"]] == [8, 16, 24]


def test_the_interval_of_an_error_does_not_go_below_zero():
    """Of three held-out episodes one is cloned badly: plus and minus would reach below 0."""
    data = demonstrations(episodes=3)
    actions = np.where(data.episode_index[:, None] == 2, -data.actions, data.actions)
    data = with_columns(data, actions=actions)
    rows = np.arange(len(data))
    weights = np.array([[1.0, 0.0], [0.0, -0.5], [0.0, 0.0]], np.float32)
    low, mean = -np.ones(2, np.float32), np.zeros(3, np.float32)
    policy = Policy((weights,), (np.zeros(2, np.float32),), low, -low, mean, mean + 1)
    found = Examples.of(data, rows, rows, 2).judge(policy)
    assert found.interval is not None and found.interval[0] == 0 < found.value < found.interval[1]


def test_the_error_is_that_of_the_kept_policy_by_hand(tmp_path):
    data = demonstrations(episodes=30)
    run = train_agent(
        "bc", data, folder=tmp_path, settings=PLAN | {"held_out_share": 0.3}
    ).to_json()
    policy = rlassay.load_policy(tmp_path)
    training, held = split_rows(data, 0.3)
    scale = data.actions.std(axis=0, dtype=np.float64)
    wanted = data.actions[held].astype(np.float64)
    error = ((policy(data.observations[held]) - wanted) / scale) ** 2
    constant = ((data.actions[training].mean(axis=0, dtype=np.float64) - wanted) / scale) ** 2
    assert run["held_out"]["value"] == pytest.approx(error.sum() / constant.sum(), rel=1e-6)
    low, high = run["held_out"]["interval"]
    assert low < run["held_out"]["value"] < high and run["held_out"]["episodes"] == 9


def test_discrete_error_is_the_log_loss_relative_to_the_frequencies(tmp_path):
    data = choices()
    run = train_agent("bc", data, folder=tmp_path, settings=PLAN).to_json()
    policy = rlassay.load_policy(tmp_path)
    training, held = split_rows(data, 0.1)
    logits = policy.outputs(data.observations[held]).astype(np.float64)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    actions = data.actions[held, 0]
    counts = np.bincount(data.actions[training, 0], minlength=2) + 0.5
    own = -np.log(chances[np.arange(len(held)), actions]).sum()
    frequencies = -np.log((counts / counts.sum())[actions]).sum()
    assert run["held_out"]["value"] == pytest.approx(own / frequencies, rel=1e-6)
    assert set(policy(data.observations).tolist()) <= {0, 1}
    assert policy(data.observations).dtype == np.int64


def test_episodes_are_apart_and_the_split_is_the_datas():
    data = demonstrations(episodes=30)
    training, held = split_rows(data, 0.1)
    assert len(training) + len(held) == len(data)
    assert not set(data.episode_index[training]) & set(data.episode_index[held])
    assert len(set(data.episode_index[held])) == 3
    np.testing.assert_array_equal(split_rows(data, 0.1)[1], held)


def test_held_out_rows_teach_nothing(tmp_path):
    data = demonstrations(length=30)
    _, held = split_rows(data, 0.1)
    others = np.array(data.actions)
    others[held] = np.roll(others[held], 1, axis=0)  # same values: the same bounds
    train_agent("bc", data, folder=tmp_path / "a", settings=PLAN | {"patience": None})
    other = with_columns(data, actions=others)
    train_agent("bc", other, folder=tmp_path / "b", settings=PLAN | {"patience": None})
    with np.load(tmp_path / "a" / "state.npz") as a, np.load(tmp_path / "b" / "state.npz") as b:
        assert all((a[name] == b[name]).all() for name in ("leaf0", "leaf1", "leaf2"))


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(tmp_path):
    plan = PLAN | {"updates": 400, "learning_rate": 0.5, "patience": 2}
    run = train_agent("bc", demonstrations(), folder=tmp_path, settings=plan)
    errors = [point["held_out"]["value"] for point in run.to_json()["curve"]]
    best = int(np.argmin(errors))
    assert run.updates < 400 and len(errors) == best + 3
    kept = Policy.load(tmp_path / "policy.safetensors")
    assert kept.metadata["updates"] == str(run.evaluations[best].update)
    assert run.to_json()["held_out"]["value"] == min(errors)
    again = train_agent("bc", demonstrations(), folder=tmp_path, settings=plan | {"updates": 800})
    assert again.updates == run.updates  # it would have stopped there, too


def test_a_longer_run_is_the_one_asked_for_at_once(tmp_path):
    data = demonstrations()
    train_agent("bc", data, folder=tmp_path / "parts", settings=PLAN | {"updates": 16})
    train_agent("bc", data, folder=tmp_path / "parts", settings=PLAN)
    train_agent("bc", data, folder=tmp_path / "whole", settings=PLAN)
    assert outputs(tmp_path / "parts") == outputs(tmp_path / "whole")


def test_two_thousand_updates_go_on_to_three_thousand(tmp_path):
    """With the default rhythm of 5,000, in which neither is an evaluation of a longer run."""
    plan = {"width": 8, "batch_size": 8}
    data = demonstrations()
    train_agent("bc", data, folder=tmp_path / "parts", settings=plan | {"updates": 2_000})
    longer = train_agent("bc", data, folder=tmp_path / "parts", settings=plan | {"updates": 3_000})
    train_agent("bc", data, folder=tmp_path / "whole", settings=plan | {"updates": 3_000})
    assert [evaluation.update for evaluation in longer.evaluations] == [3_000]
    assert outputs(tmp_path / "parts") == outputs(tmp_path / "whole")


def test_a_file_whose_environment_cannot_be_made_is_judged_by_itself(tmp_path):
    data = walks(episodes=6, length=10, dims=(3, 1), env_id="Nowhere-v0")
    run = train_agent("bc", data, folder=tmp_path, settings=PLAN)
    assert run.env_id is None and "Nowhere-v0" in run.to_json()["held_out"]["reason"]
    with pytest.raises(SettingsError, match="cannot make the environment"):
        train_agent("bc", data, "Nowhere-v0", folder=tmp_path / "named", settings=PLAN)
    with pytest.raises(SettingsError, match="cannot make the environment"):
        train_agent("iql", data, folder=tmp_path / "iql", settings=PLAN)


def test_without_gymnasium_the_file_judges_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    data = walks(episodes=6, length=10, dims=(3, 1), bounds=2.0, env_id="Pendulum-v1")
    run = train_agent("bc", data, folder=tmp_path, settings=PLAN)
    assert run.env_id is None and "simulator extra" in run.to_json()["held_out"]["reason"]


def test_a_policy_is_loaded_and_acts_in_numpy_alone(tmp_path):
    train_agent("bc", demonstrations(), folder=tmp_path, settings=PLAN)
    code = (
        "import sys, numpy, rlassay; policy = rlassay.load_policy(sys.argv[1])\n"
        "print(policy(numpy.zeros((2, 3))).shape, sorted({'jax', 'gymnasium'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 2) []"
    with pytest.raises(DatasetError, match="not a policy of rlassay"):
        rlassay.load_policy(tmp_path / "log.csv")


def test_settings_that_would_reach_nothing_are_refused(tmp_path):
    data = walks(episodes=6, length=10, dims=(3, 1), bounds=2.0, env_id="Pendulum-v1")
    with pytest.raises(SettingsError, match="patience is for training without a simulator"):
        train_agent("bc", data, folder=tmp_path, settings=PLAN | {"patience": 3})


def test_dead_joints_and_constant_actions(tmp_path):
    data = demonstrations()
    still = np.array(data.actions)
    still[:, 1] = 0.25
    run = train_agent("bc", with_columns(data, actions=still), folder=tmp_path / "a", settings=PLAN)
    assert np.isfinite(run.to_json()["held_out"]["value"])
    still[:] = 0.25
    with pytest.raises(DatasetError, match="are constant"):
        train_agent("bc", with_columns(data, actions=still), folder=tmp_path / "b", settings=PLAN)


def test_one_episode_is_judged_by_its_end():
    data = demonstrations(episodes=1, length=50)
    training, held = split_rows(data, 0.1)
    assert held.tolist() == [45, 46, 47, 48, 49] and len(training) == 45
    examples = Examples.of(data, training, held, space_of_data(data).size)
    assert len(examples.actions) == 5
    with pytest.raises(DatasetError, match="one transition"):
        split_rows(demonstrations(episodes=1, length=1), 0.1)


def test_many_actions_need_room_beyond_their_range():
    data = demonstrations()
    space = space_of_data(data)
    assert (space.low < data.actions.min(axis=0)).all() and (
        space.high > data.actions.max(axis=0)
    ).all()
    stated = walks(dims=(3, 2), bounds=4.0)
    assert space_of_data(stated).high.tolist() == [4.0, 4.0]
