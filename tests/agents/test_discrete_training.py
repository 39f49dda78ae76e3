"""Discrete data from file to run: which agents, which actions, odd numbers, policies and rollouts."""

from dataclasses import replace

import numpy as np
import pytest

import rlassay
from probes import dataset, walks
from rlassay.agents import DISCRETE_AGENTS, agent_kind, train_agent
from rlassay.data.dataset import Dataset
from rlassay.data.discrete import ActionNumbers, action_numbers, unseen_actions
from rlassay.errors import DatasetError, SettingsError
from rlassay.oracle.profiles import agents_of, settings_of
from rlassay.policy import Policy
from rlassay.rollout import collect, evaluate, make_env

ENV = "CartPole-v1"  # four observations, two actions
PLAN = {"width": 8, "batch_size": 8, "updates": 16, "eval_every": 8, "eval_episodes": 2}


def cart(actions=None, rows=60, **columns):
    rng = np.random.default_rng(0)
    given = {
        "observations": rng.normal(size=(rows, 4)),
        "actions": rng.integers(0, 2, rows) if actions is None else actions,
        "rewards": np.ones(rows),
        "terminals": np.arange(rows) % 10 == 9,
    }
    return dataset(bounds=None, env_id=ENV, **(given | columns))


@pytest.mark.parametrize("agent", DISCRETE_AGENTS)
def test_training_resumes_bit_by_bit_and_its_policy_plays(agent, tmp_path):
    plan = PLAN if agent_kind(agent, True).schedule is None else PLAN | {"eval_every": 16}
    run = train_agent(agent, cart(), folder=tmp_path, settings=plan)
    assert run.env_id == ENV and run.last.mean >= 8
    policy = rlassay.load_policy(tmp_path)
    assert policy.discrete and policy(np.zeros((5, 4))).shape == (5,)
    assert evaluate(policy, ENV, episodes=2).mean >= 8
    if agent_kind(agent, True).schedule is None:
        train_agent(agent, cart(), folder=tmp_path / "short", settings=plan | {"updates": 8})
        train_agent(agent, cart(), folder=tmp_path / "short", settings=plan)
        kept = (tmp_path / "policy.safetensors").read_bytes()
        assert (tmp_path / "short" / "policy.safetensors").read_bytes() == kept


def test_policies_keep_their_kind_and_their_first_number(tmp_path):
    rng = np.random.default_rng(0)
    layers = (rng.normal(size=(4, 3)).astype(np.float32),), (np.zeros(3, np.float32),)
    ends, scale = (np.array([5.0]), np.array([7.0])), (np.zeros(4), np.ones(4))
    policy = Policy(*layers, *ends, *scale, discrete=True)
    policy.save(tmp_path / "p.safetensors")
    again = rlassay.load_policy(tmp_path / "p.safetensors")
    states = rng.normal(size=(20, 4))
    assert set(again(states).tolist()) == {5, 6, 7}
    np.testing.assert_array_equal(again(states), policy(states))
    assert again(states[0]).shape == () and again.action_dim == 1


def test_names_pick_the_kind_by_the_data(tmp_path):
    with pytest.raises(
        SettingsError, match="data has discrete actions and td3bc is for continuous"
    ):
        train_agent("td3bc", cart(), folder=tmp_path, settings=PLAN)
    with pytest.raises(SettingsError, match="data has continuous actions and dqn is for discrete"):
        train_agent("dqn", walks(), "Pendulum-v1", folder=tmp_path, settings=PLAN)
    with pytest.raises(SettingsError, match="unknown agent"):
        train_agent("nobody", cart(), folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("actions", "sentence"),
    [
        (np.arange(60) % 2 - 1, "actions that do not exist; allowed: .*0 to 1; got: -1 to 0"),
        (np.arange(60) % 5, "allowed: the actions of CartPole-v1: 0 to 1; got: 0 to 4"),
        (np.arange(60) % 2 * 1.0, "of the type float32; store the actions as integers, or name"),
        (np.linspace(0, 1, 60), "of the type float32; name the environment"),
        (np.arange(120).reshape(60, 2) % 2, "2 discrete actions at a time"),
    ],
)
def test_actions_the_environment_does_not_know_are_one_sentence(actions, sentence, tmp_path):
    data = cart(np.reshape(actions, (60, -1)))
    with pytest.raises(DatasetError, match=sentence):
        train_agent("bc", data, folder=tmp_path, settings=PLAN)


def test_numbers_without_an_environment():
    gaps = cart(np.array([0, 3, 7] * 20))
    assert action_numbers(gaps) == ActionNumbers(0, 8)
    assert unseen_actions(gaps, action_numbers(gaps)) == [1, 2, 4, 5, 6]
    with pytest.raises(DatasetError, match="numbered from 0; got: -1 to 1"):
        action_numbers(cart(np.array([-1, 0, 1] * 20)))
    with pytest.raises(DatasetError, match="20,001 discrete actions; allowed: 10,000 at most"):
        action_numbers(cart(np.array([0, 1, 20_000] * 20)))
    shifted = cart(np.array([5, 6, 7] * 20))
    assert action_numbers(shifted, ActionNumbers(5, 3), "there").last == 7


def test_without_an_environment_the_file_says_which_actions_there_are(tmp_path):
    def stated(low, high):
        ends = {"action_low": np.array([low]), "action_high": np.array([high])}
        data = cart(np.arange(60) % 3)
        origin = replace(data.origin, env_id=None, **ends)
        columns = ("observations", "actions", "rewards", "terminals")
        return Dataset.from_columns(**{n: getattr(data, n) for n in columns}, origin=origin)

    with pytest.raises(DatasetError, match="file states: 0 to 1; got: 0 to 2; correct the bounds"):
        train_agent("bc", stated(0, 1), folder=tmp_path, settings=PLAN)
    train_agent("bc", stated(0, 4), folder=tmp_path, settings=PLAN)
    policy = rlassay.load_policy(tmp_path)
    assert policy.weights[-1].shape[-1] == 5
    with pytest.raises(SettingsError, match="holds a run with other settings, data or seed"):
        train_agent("bc", stated(0, 5), folder=tmp_path, settings=PLAN)


def test_discrete_rows_are_collected_as_whole_numbers():
    env = make_env(ENV)
    rows = collect(env, lambda observation, rng: rng.integers(2), 30, (0, 1))
    assert rows.actions.dtype == np.int64 and set(rows.actions.tolist()) == {0, 1}
    env.close()


def test_the_oracle_of_discrete_data_has_four_agents():
    assert agents_of("lite", True) == ("bc", "iql", "cql", "dqn")
    settings = settings_of(agents_of("lite", True), "lite", {"dqn.width": "16"}, True)
    assert settings["dqn"].width == 16 and settings["cql"].width == 128
    assert settings["iql"].updates == 48_000


def test_an_environment_of_vectors_is_needed():
    with pytest.raises(SettingsError, match="observations of the space Discrete"):
        make_env("FrozenLake-v1")
