"""scripts/real_cartpole.py against the environment itself: its steps, its ends, and what it makes of a file."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rlassay.data.dataset import Dataset
from rlassay.rollout import make_env

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import real_cartpole as script


@pytest.fixture(scope="module")
def recorded():
    """Random episodes of CartPole-v1: states, pushes, next states, and whether the pole fell."""
    env, rng, rows = make_env("CartPole-v1"), np.random.default_rng(0), []
    for seed in range(12):
        state, over = env.reset(seed=seed)[0], False
        while not over:
            push = int(rng.integers(2))
            following, _, over, *_ = env.step(push)
            rows.append((state, push, following, over))
            state = following
    env.close()
    return [np.array(column) for column in zip(*rows, strict=True)]


def file_of(recorded, ends, **columns):
    states, pushes, _, _ = recorded
    given = {"observations": states, "actions": pushes, "rewards": np.ones(len(states))}
    starts = np.flatnonzero(np.concatenate([[True], ends[:-1]]))
    none = np.zeros(len(states), bool)
    return Dataset.from_columns(**{**given, **columns}, terminals=none, episode_starts=starts)


def test_steps_and_ends_are_the_environments(recorded):
    states, pushes, following, over = recorded
    np.testing.assert_allclose(script.next_states(states, pushes), following, atol=1e-6)
    assert (script.fallen(following) == over).all()


def test_ends_are_found_where_the_file_states_none(recorded):
    _, _, following, over = recorded
    cut = over.copy()
    cut[3] = True  # stopped in the middle
    cut[np.flatnonzero(over)[4]] = False  # and an end that nobody marked
    data, error = script.with_own_ends(file_of(recorded, cut), "probe")
    assert (data.terminals == over).all() and np.flatnonzero(data.timeouts).tolist() == [3]
    np.testing.assert_allclose(data.next_observations, following, atol=1e-6)
    assert error < 1e-6 and data.episode_count == 13


def test_choices_as_vectors_are_numbers_and_other_physics_are_refused(recorded):
    _, pushes, _, over = recorded
    vectors = np.eye(2, dtype=np.float32)[pushes]
    data, _ = script.with_own_ends(file_of(recorded, over, actions=vectors), "probe")
    assert (data.actions.ravel() == pushes).all() and data.discrete_actions
    with pytest.raises(SystemExit, match="does not follow CartPole's equations"):
        script.with_own_ends(file_of(recorded, over, actions=1 - pushes), "probe")
