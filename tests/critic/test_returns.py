"""Sums along episodes against the plain loop."""

import numpy as np
import pytest

from probes import walks
from rlassay.critic import Critic, CriticSettings, Scaling
from rlassay.critic.compiled import _Continuous, _initial_state, _make_step, _Training
from rlassay.critic.model import forward
from rlassay.critic.targets import (
    Columns,
    bootstrapped_returns,
    constant_bootstrap,
    end_values,
    lambda_returns,
    rows_left,
    split_episodes,
    sums_along,
    training_columns,
)

SCALING = Scaling(np.zeros(1), np.ones(1), -np.ones(1), np.ones(1))
STARTS = np.array([0, 1, 4, 9])
ROWS = 12


def loop(values, starts, factor):
    total = np.array(values, float)
    lasts = set(np.append(starts[1:], len(values)) - 1)
    for t in reversed(range(len(values))):
        if t not in lasts:
            total[t] += factor * total[t + 1]
    return total


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.99, 1.0])
def test_sums_equal_the_loop(factor):
    values = np.random.default_rng(0).normal(size=ROWS)
    np.testing.assert_allclose(
        sums_along(values, STARTS, factor), loop(values, STARTS, factor), rtol=1e-13
    )


def test_a_long_episode_is_summed_to_its_end():
    values = np.ones(5_000)
    found = sums_along(values, np.array([0]), 0.999)
    np.testing.assert_allclose(found[0], (1 - 0.999**5_000) / 0.001, rtol=1e-10)


def test_rows_left_counts_the_row_itself():
    assert rows_left(STARTS, ROWS).tolist() == [1, 3, 2, 1, 5, 4, 3, 2, 1, 3, 2, 1]


def test_lambda_one_is_the_return_and_lambda_zero_one_step():
    rng = np.random.default_rng(1)
    rewards, values, ends = rng.normal(size=ROWS), rng.normal(size=ROWS), rng.normal(size=4)
    lasts = np.append(STARTS[1:], ROWS) - 1
    with_ends = rewards.copy()
    with_ends[lasts] = ends
    full = lambda_returns(rewards, values, STARTS, ends, 0.9, 1.0)
    np.testing.assert_allclose(full, loop(with_ends, STARTS, 0.9), rtol=1e-13)
    one_step = lambda_returns(rewards, values, STARTS, ends, 0.9, 0.0)
    inner = np.setdiff1d(np.arange(ROWS), lasts)
    np.testing.assert_allclose(one_step[inner], (rewards + 0.9 * values)[inner], rtol=1e-13)
    np.testing.assert_allclose(one_step[lasts], ends)


def test_the_constant_behind_a_cut_is_the_mean_of_the_returns():
    rewards = np.random.default_rng(2).normal(size=ROWS)
    cut = np.repeat([True, False, True, True], [1, 3, 5, 3])
    returns, constant = constant_bootstrap(rewards, STARTS, cut, 0.9)
    assert returns.mean() == pytest.approx(constant, rel=1e-12)
    ended = slice(1, 4)
    np.testing.assert_allclose(returns[ended], loop(rewards, STARTS, 0.9)[ended], rtol=1e-12)


def test_shifted_rewards_shift_returns_of_unfinished_episodes_by_the_perpetuity():
    rewards = np.random.default_rng(3).normal(size=ROWS)
    cut = np.ones(ROWS, bool)
    before, _ = constant_bootstrap(rewards, STARTS, cut, 0.9)
    after, _ = constant_bootstrap(rewards + 2.0, STARTS, cut, 0.9)
    np.testing.assert_allclose(after - before, 20.0, rtol=1e-10)


# -- ends of episodes ------------------------------------------------------------------------------------------------


def constant_critic(q: float, v: float, discount: float = 0.9, trace_decay: float = 0.5) -> Critic:
    """Q and V that are the same everywhere, in units of 2 around 10."""
    settings = CriticSettings(discount=discount, trace_decay=trace_decay)

    def layers(width, value):
        return [{"w": np.zeros((width, 1), np.float32), "b": np.array([value], np.float32)}]

    parameters = ({"q": layers(2, (q - 10) / 2), "v": layers(1, (v - 10) / 2)},)
    return Critic(settings, (0,), SCALING, parameters, centre=10.0, spread=2.0, curve={})


def three_episodes() -> Columns:
    """Two steps each: one ends by a terminal, one is cut with a known successor, one without."""
    return Columns(
        inputs=np.zeros((6, 2), np.float32),
        following=np.zeros((6, 2), np.float32),
        rewards=np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        starts=np.array([0, 2, 4]),
        last=np.array([1, 3, 5]),
        terminal=np.array([False, True, False, False, False, False]),
        known=np.array([True, True, True, True, True, False]),
        observation_dim=1,
    )


def test_a_terminal_ends_the_value_a_cut_goes_on_with_v_and_the_unknown_with_its_own_q():
    critic, columns = constant_critic(q=30.0, v=20.0), three_episodes()
    values = critic.q_at(0, columns.inputs)
    np.testing.assert_allclose(values, 30.0, rtol=1e-6)
    found = end_values(critic, 0, columns, values)
    np.testing.assert_allclose(found, [2.0, 4.0 + 0.9 * 20.0, 30.0], rtol=1e-6)


def test_lambda_returns_bootstrap_from_the_next_row_and_end_as_the_episode_does():
    critic, columns = constant_critic(q=30.0, v=20.0), three_episodes()
    ends = np.array([2.0, 22.0, 30.0])
    first = np.array([1.0, 3.0, 5.0]) + 0.9 * (0.5 * 30.0 + 0.5 * ends)
    expected = np.stack([first, ends], axis=1).ravel()
    np.testing.assert_allclose(bootstrapped_returns(critic, 0, columns), expected, rtol=1e-6)


def test_the_columns_of_an_episode_follow_each_other_and_end_with_their_own_flags():
    data = walks(episodes=3, seed=0)
    scaling = Scaling.of(data)
    chosen, _ = split_episodes(data, 10_000, 0.0, seed=0)
    columns = training_columns(data, chosen, scaling)
    inner = np.setdiff1d(np.arange(len(columns.inputs)), columns.last)
    np.testing.assert_array_equal(columns.following[inner], columns.inputs[inner + 1])
    rows = chosen.rows[columns.last]
    after = scaling.observations(data.next_observations[rows])
    np.testing.assert_array_equal(columns.following[columns.last, : data.observation_dim], after)
    np.testing.assert_array_equal(columns.terminal, data.terminals[chosen.rows])
    np.testing.assert_array_equal(columns.rewards, data.rewards[chosen.rows])


def test_targets_are_standardised_by_the_first_returns():
    """Constant rewards of one-step terminal episodes: returns 2 and 6 become -1 and 1, and values come back as they were."""
    training = _Training(
        three_episodes(), SCALING, CriticSettings(steps=1), (0,), lambda *news: None
    )
    training.centre, training.spread = 4.0, 2.0
    assert training._standardised(np.array([2.0, 6.0])).tolist() == [-1.0, 1.0]
    critic = constant_critic(q=30.0, v=20.0)
    assert critic.v(0, np.zeros((2, 1))) == pytest.approx(20.0)
    assert critic.q(0, np.zeros((2, 1)), np.zeros((2, 1))) == pytest.approx(30.0)


def test_one_step_targets_leave_out_cuts_and_end_at_terminals(monkeypatch):
    settings = CriticSettings(method="sarsa", steps=1, hidden=(4,))
    training = _Training(three_episodes(), SCALING, settings, (0,), lambda *news: None)
    seen: list = []
    monkeypatch.setattr(training, "_run", lambda rows, first, steps: seen.append(rows[0]))
    training.with_steps()
    [rows] = seen
    assert rows["rewards"].tolist() == [1.0, 2.0, 3.0, 5.0]  # the two cut ends have no next action
    assert rows["continues"].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("target_rate", [1.0, 0.25])
def test_one_update_minimises_the_squared_distance_to_its_target(target_rate):
    """The loss of a step is that of its formula: rewards + discount * continues * Q of the next row."""
    settings = CriticSettings(method="sarsa", discount=0.5, hidden=(3,), target_rate=target_rate)
    state = _initial_state(settings, 0, _Continuous(1, 2))
    rng = np.random.default_rng(0)
    inputs, following = rng.normal(size=(2, 4, 2)).astype(np.float32)
    batch = {"inputs": inputs, "following": following, "rewards": np.arange(4, dtype=np.float32)}
    batch["continues"] = np.array([1, 0, 1, 0], np.float32)
    q, after = (np.asarray(forward(state["online"]["q"], x)) for x in (inputs, following))
    wanted = np.arange(4) + 0.5 * np.array([1, 0, 1, 0]) * after
    moved, info = _make_step(settings, _Continuous(1, 2))(state, None, batch)
    assert float(info["loss"]) == pytest.approx(((q - wanted) ** 2).mean(), rel=1e-5)
    if target_rate < 1:
        old, new = (np.asarray(s["online"]["q"][0]["w"]) for s in (state, moved))
        slow = np.asarray(moved["target"][0]["w"])
        np.testing.assert_allclose(slow, 0.75 * old + 0.25 * new, rtol=1e-5, atol=1e-7)
