"""Which rows train the critic: whole episodes, capped, apart from the held-out ones."""

import numpy as np
import pytest

from probes import bandit, walks
from rlassay.critic.targets import MOST_HELD_OUT_ROWS, held_out_count, split_episodes, split_rows


def test_training_and_held_out_episodes_are_apart_and_cover_the_data():
    data = walks(episodes=100, length=10)
    training, held = split_episodes(data, 100_000, 0.2, seed=0)
    assert len(held.starts) == 20
    assert np.array_equal(np.sort(np.concatenate([training.rows, held.rows])), np.arange(1_000))
    assert not set(data.episode_index[training.rows]) & set(data.episode_index[held.rows])


def test_stretches_are_consecutive_rows_of_one_episode():
    data = walks(episodes=30, length=7)
    training, _ = split_episodes(data, 50, 0.2, seed=3)
    assert len(training) == 50
    within = np.setdiff1d(np.arange(1, 50), training.starts)
    assert (np.diff(training.rows)[within - 1] == 1).all()
    assert (
        data.episode_index[training.rows[within]] == data.episode_index[training.rows[within - 1]]
    ).all()


def test_a_single_long_episode_is_cut_to_a_window():
    data = walks(episodes=1, length=5_000)
    training, held = split_episodes(data, 1_000, 0.2, seed=0)
    assert len(training) == 1_000 and len(held) == 0
    assert (np.diff(training.rows) == 1).all()


def test_the_cap_holds_whatever_the_size():
    data = bandit(60_000)
    training, held = split_episodes(data, 5_000, 0.5, seed=0)
    assert len(training) == 5_000
    assert len(held) == MOST_HELD_OUT_ROWS


@pytest.mark.parametrize(
    ("episodes", "expected"), [(1, 0), (10, 2), (39, 7), (40, 20), (90, 20), (500, 100)]
)
def test_at_least_twenty_episodes_are_held_out_where_as_many_remain(episodes, expected):
    assert held_out_count(episodes, 0.2) == expected


def test_no_holdout_keeps_everything():
    assert held_out_count(500, 0.0) == 0


def test_few_episodes_are_parted_in_time():
    data = walks(episodes=2, length=10)
    training, held = split_rows(data, 1_000, 0.2, seed=0)
    assert held.tolist() == [8, 9, 18, 19]
    assert len(training) == 16


def test_one_row_trains_and_tests_itself():
    training, held = split_rows(bandit(1), 1_000, 0.2, seed=0)
    assert training.tolist() == held.tolist() == [0]
