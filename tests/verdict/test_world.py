"""The clone in a learned world, where the true world is known."""

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.verdict.world import World, WorldSettings, clone_in_world

SMALL = WorldSettings(members=2, width=32, steps=1_500, rollouts=16, batch_size=128)


def pushing(conflict: bool, episodes=60, length=40) -> Dataset:
    """Time passes whatever one does, and a push of 1 earns 1 in either direction; with conflict, half of the episodes
    push left: the mean of both pushes earns nothing, and no state tells which way to push."""
    rng = np.random.default_rng(0)
    side = np.where(np.arange(episodes) % 2 == 0, 1.0, -1.0 if conflict else 1.0)
    time = np.tile(np.arange(length) / length, episodes).astype(np.float32)
    actions = np.repeat(side, length) + rng.normal(0, 0.5, len(time))
    ends = np.arange(1, len(time) + 1) % length == 0
    return Dataset.from_columns(
        observations=time[:, None],
        actions=actions.astype(np.float32)[:, None],
        rewards=(actions**2).astype(np.float32),
        next_observations=(time + 1 / length).astype(np.float32)[:, None],
        terminals=np.zeros(len(ends), bool),
        timeouts=ends,
        episode_starts=np.arange(0, len(ends), length),
    )


def test_a_clone_keeps_the_return_of_one_policy_and_loses_that_of_two_in_conflict():
    """The clone of 1 +- 0.5 pushes 1 and earns 1 where the data earns 1.25; the clone of both pushes nothing."""
    alone, torn = (clone_in_world(pushing(conflict), SMALL) for conflict in (False, True))
    assert len(alone.returns) == 32
    assert 0.75 < alone.returns.mean() / alone.data_return < 1
    assert torn.returns.mean() < 0.6 * torn.data_return and torn.share == 0


def test_the_share_is_of_what_lies_above_the_lowest_return():
    assert World(np.array([5.0]), 10.0, 0.0).share == 0.5
    assert World(np.array([-200.0]), -150.0, -250.0).share == 0.5
    assert World(np.array([50.0]), 10.0, 0.0).share == 1.0
    assert World(np.array([1.0]), 1.0, 1.0).share == 1.0
