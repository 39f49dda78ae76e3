"""Sums along episodes against the plain loop."""

import numpy as np
import pytest

from rlassay.critic.targets import constant_bootstrap, lambda_returns, rows_left, sums_along

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
