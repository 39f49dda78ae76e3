"""Modes of returns and what can be reached from the start, on data with known answers."""

import numpy as np
import pytest

from rlassay.data.dataset import Dataset
from rlassay.verdict.modes import ashman, modes_of
from rlassay.verdict.reach import reachable_return


def test_two_clean_modes_are_several():
    rng = np.random.default_rng(0)
    returns = np.concatenate([rng.normal(100, 10, 30), rng.normal(1000, 30, 70)])
    found = modes_of(returns)
    assert found is not None and found.several
    assert found.lower_share == 0.3 and 130 < found.cut < 920
    assert found.separation == pytest.approx(ashman(returns[:30], returns[30:]))


@pytest.mark.parametrize("seed", range(5))
def test_one_mode_is_not_several(seed):
    rng = np.random.default_rng(seed)
    for returns in (rng.normal(0, 1, 500), rng.uniform(0, 1, 500), rng.exponential(1, 500)):
        found = modes_of(returns)
        assert found is not None and not found.several and not found.apart


def test_a_group_of_few_long_episodes_is_told_apart_but_is_no_mode():
    """Half expert, half random by steps: few of the episodes are the expert's."""
    rng = np.random.default_rng(0)
    returns = np.concatenate([rng.normal(20, 10, 669), rng.normal(3_536, 8, 42)])
    found = modes_of(returns)
    assert found.apart and not found.several and found.upper_mean > 3_500


def test_a_few_outliers_are_no_mode():
    returns = np.concatenate([np.random.default_rng(0).normal(100, 5, 95), [900] * 5])
    found = modes_of(returns)
    assert found is not None and not found.several


def test_six_of_forty_episodes_are_no_mode():
    """As in the sample hopper-medium: one policy, six of whose episodes end early."""
    rng = np.random.default_rng(0)
    parts = rng.normal(986, 40, 12), rng.normal(1360, 40, 36)
    few, enough = np.concatenate([parts[0][:6], parts[1]]), np.concatenate(parts)
    assert not modes_of(few).several and modes_of(enough).several


def test_few_or_equal_returns_have_no_modes():
    assert modes_of(np.arange(9.0)) is None and modes_of(np.ones(50)) is None


def ways(start_apart: float, episodes=40, length=50) -> Dataset:
    """Half of the episodes earn 1 a step, half 0; they start `start_apart` from each other and run away."""
    rng = np.random.default_rng(1)
    good = np.arange(episodes) % 2 == 0
    steps = np.tile(np.arange(length), episodes)
    sides = np.repeat(np.where(good, 1.0, -1.0), length)
    x = sides * (start_apart / 2 + np.maximum(steps - 25, 0)) + 0.01 * rng.normal(size=len(steps))
    observations = np.stack([x, steps / 10], axis=1).astype(np.float32)
    ends = steps == length - 1
    return Dataset.from_columns(
        observations=observations,
        actions=np.zeros((len(x), 1), np.float32),
        rewards=np.repeat(good, length).astype(np.float32),
        next_observations=np.roll(observations, -1, axis=0),
        terminals=np.zeros(len(x), bool),
        timeouts=ends,
        episode_starts=np.arange(0, len(x), length),
    )


def test_good_behaviour_that_everyone_can_enter_is_reachable():
    together, apart = reachable_return(ways(0.0)), reachable_return(ways(100.0))
    assert together == pytest.approx(50)  # every start has good neighbours: the weight is theirs
    assert apart == pytest.approx(25)  # half of the starts see only bad ones


def test_one_episode_is_its_own_neighbour():
    assert reachable_return(ways(0.0, episodes=1)) == 50
