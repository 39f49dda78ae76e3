"""Every agent on problems whose optimum is known: cloning misses it, the six others find it."""

import numpy as np
import pytest
from agent_problems import PROBES, learn

from rlassay.agents import SEVEN

# What an agent needs on problems of a few hundred updates; everything else is its default.
QUICK = {
    "bc": {},
    "awac": {"actor_depth": 2, "temperature": 0.3},
    "onestep": {"critic_share": 0.6, "inverse_temperature": 3.0},
    "td3bc": {"normalise_observations": False},
    "cql": {"actor_learning_rate": 3e-3, "conservative_weight": 0.5, "action_samples": 4},
    "iql": {"reward_scaling": "none", "expectile": 0.9},
    "xql": {"reward_scaling": "none", "gumbel_temperature": 0.5},
}
UPDATES = 1_600


def largest_error(agent: str, probe) -> float:
    _, _, policy = learn(agent, probe.data, updates=UPDATES, target_rate=0.05, **QUICK[agent])
    return float(np.abs(policy(probe.states) - probe.best).max())


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("agent", [agent for agent in SEVEN if agent != "bc"])
def test_offline_agents_find_the_optimum(agent, name):
    probe = PROBES[name]()
    assert largest_error(agent, probe) <= probe.reach


@pytest.mark.parametrize("name", PROBES)
def test_cloning_misses_it_and_stays_at_the_mean(name):
    probe = PROBES[name]()
    _, _, policy = learn("bc", probe.data, updates=UPDATES)
    actions = policy(probe.states)
    assert np.abs(actions - probe.best).max() > probe.reach
    np.testing.assert_allclose(actions, probe.behaviour, atol=0.2)
