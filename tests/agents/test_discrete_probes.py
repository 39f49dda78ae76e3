"""Agents of discrete actions on a bandit and a chain whose values are known."""

import numpy as np
import pytest
from discrete_problems import BANDIT, CHAIN_Q, DISCOUNT, HABIT, bandit, chain, learn

from rlassay.agents import DISCRETE_AGENTS

PLACES = np.eye(3)[:2]
QUICK = {
    "iql": {"reward_scaling": "none", "expectile": 0.9},
    "cql": {"conservative_weight": 0.1},
    "dqn": {},
    "awac": {"actor_depth": 2, "temperature": 0.3},
    "onestep": {"critic_share": 0.6, "inverse_temperature": 3.0},
}


def trained(name, data, count, **changes):
    given = {"discount": DISCOUNT, "target_rate": 0.05} | QUICK.get(name, {}) | changes
    return learn(name, data, count, updates=1_200, **given)


@pytest.mark.parametrize("name", QUICK)
def test_the_best_action_is_found_where_the_habit_is_another(name):
    _, policy = trained(name, bandit(), 3)
    assert policy(PLACES).tolist() == [1, 0]
    _, policy = trained(name, chain(), 2)
    assert policy(PLACES).tolist() == [1, 1]


def test_cloning_keeps_the_habit_and_its_frequencies():
    _, policy = trained("bc", bandit(), 3)
    assert policy(PLACES).tolist() == [0, 0]
    logits = policy.outputs(PLACES)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances, [HABIT, HABIT], atol=0.08)


def test_dqn_learns_the_values_of_bandit_and_chain():
    _, policy = trained("dqn", bandit(), 3)
    np.testing.assert_allclose(policy.outputs(PLACES), BANDIT, atol=0.15)
    _, policy = trained("dqn", chain(), 2)
    np.testing.assert_allclose(policy.outputs(PLACES), CHAIN_Q, atol=0.3)


def test_cql_values_the_bandit_where_error_and_gap_balance():
    """In every place Q - r = weight (1 - softmax(Q) / frequency), as long as Huber's loss is a square there."""
    data = bandit()
    calm = {"learning_rate": 1e-3, "batch_size": 512}
    _, policy = trained("cql", data, 3, conservative_weight=0.1, **calm)
    counts = data.observations[:, :2].T @ np.eye(3)[data.actions[:, 0]]
    frequency, q = counts / counts.sum(axis=1, keepdims=True), BANDIT.copy()
    for _ in range(500):
        chances = np.exp(q) / np.exp(q).sum(axis=1, keepdims=True)
        q += 0.1 * (BANDIT + 0.1 * (1 - chances / frequency) - q)
    assert np.abs(q - BANDIT).max() > 0.25  # the gap shows
    np.testing.assert_allclose(policy.outputs(PLACES), q, atol=0.1)


def test_an_action_that_was_never_taken_is_one_nobody_clones():
    _, policy = trained("bc", bandit(), 5)  # 3 and 4 exist and are in no row
    logits = policy.outputs(PLACES)
    assert policy.weights[-1].shape[1] == 5
    assert (logits[:, 3:].max(axis=1) < logits[:, :3].min(axis=1) - 1).all()


def test_every_agent_has_a_probe():
    assert {*QUICK, "bc"} == set(DISCRETE_AGENTS)
