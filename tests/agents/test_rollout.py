"""Rollouts in an environment that can be counted: what ends an episode, and what is flagged where."""

import gymnasium
import numpy as np
import pytest

from rlassay.rollout import Evaluator, collect, make_env

LIMIT, END = 6, 4  # steps to the timeout, and to the terminal for whoever acts upwards


class Stairs(gymnasium.Env):
    """Each step earns its own number; acting upwards ends after END steps, else the limit cuts."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        self.place += 1
        assert self.place <= LIMIT, "an episode goes on behind its timeout"
        ended = bool(action[0] > 0) and self.place == END
        return np.array([self.place], np.float32), float(self.place), ended, False, {}


@pytest.fixture(autouse=True)
def registered():
    gymnasium.register("Stairs-v0", entry_point=Stairs, max_episode_steps=LIMIT)
    yield
    gymnasium.registry.pop("Stairs-v0")


@pytest.mark.parametrize(("action", "length"), [(1.0, END), (-1.0, LIMIT)])
def test_an_evaluation_ends_at_terminals_and_timeouts(action, length):
    evaluator = Evaluator("Stairs-v0", 3)
    found = evaluator(lambda observations: np.full((len(observations), 1), action), seed=0)
    assert found.lengths.tolist() == [length] * 3
    assert found.values.tolist() == [length * (length + 1) / 2] * 3
    evaluator.close()


def test_terminals_are_no_timeouts_and_the_last_row_is_cut():
    rows = collect(make_env("Stairs-v0"), lambda observation, rng: np.ones(1), 10, [0])
    assert np.flatnonzero(rows.terminals).tolist() == [3, 7]
    assert np.flatnonzero(rows.timeouts).tolist() == [9]
    assert rows.observations[:, 0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert rows.next_observations[:, 0].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    cut = collect(make_env("Stairs-v0"), lambda observation, rng: -np.ones(1), 12, [0])
    assert np.flatnonzero(cut.timeouts).tolist() == [5, 11] and not cut.terminals.any()


def test_an_end_at_the_limit_is_a_terminal_alone():
    """Both flags in one step: what ended is not cut."""
    gymnasium.registry.pop("Stairs-v0")
    gymnasium.register("Stairs-v0", entry_point=Stairs, max_episode_steps=END)
    rows = collect(make_env("Stairs-v0"), lambda observation, rng: np.ones(1), 8, [0])
    assert np.flatnonzero(rows.terminals).tolist() == [3, 7]
    assert not rows.timeouts.any()
