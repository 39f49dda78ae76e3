"""The Dataset: episodes, ends, successors, views, statistics."""

import pickle

import numpy as np
import pytest

from rlassay.data.column_checks import ShapeError
from rlassay.data.dataset import Dataset, Origin
from rlassay.errors import DatasetError


def build(rows=9, terminal=(2,), timeout=(5,), **changes):
    flags = np.arange(rows)
    columns = {
        "observations": np.arange(rows * 2, dtype="f4").reshape(rows, 2),
        "actions": np.arange(rows, dtype="f4")[:, None],
        "rewards": np.arange(rows, dtype="f4"),
        "terminals": np.isin(flags, terminal),
        "timeouts": np.isin(flags, timeout),
    }
    return Dataset.from_columns(**{**columns, **changes})


def test_three_kinds_of_end():
    data = build()
    assert data.episode_starts.tolist() == [0, 3, 6]
    assert data.episode_lengths.tolist() == [3, 3, 3]
    assert np.flatnonzero(~data.next_action_valid).tolist() == [2, 5, 8]
    assert data.sarsa_rows.tolist() == [
        0,
        1,
        2,
        3,
        4,
        6,
        7,
    ]  # the terminal stays, timeout and open end go
    assert data.bootstrap_rows.tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert data.next_actions[:, 0].tolist() == [1, 2, 2, 4, 5, 5, 7, 8, 8]


def test_known_successor_at_a_timeout_can_be_bootstrapped():
    following = np.full((9, 2), -1, "f4")
    data = build(next_observations=following)
    assert data.next_valid.all()
    assert 5 in data.bootstrap_rows and 5 not in data.sarsa_rows


def test_unknown_successors_repeat_the_row():
    data = build(next_observations=np.full((9, 2), -1, "f4"), next_valid=np.arange(9) != 4)
    assert data.next_observations[4].tolist() == data.observations[4].tolist()
    assert data.next_observations[3].tolist() == [-1, -1]
    derived = build()
    assert derived.next_observations[5].tolist() == derived.observations[5].tolist()
    assert derived.next_observations[4].tolist() == derived.observations[5].tolist()


def test_given_borders_and_flags_are_joined():
    assert build(episode_starts=[0, 1, 7]).episode_starts.tolist() == [0, 1, 3, 6, 7]
    for bad in ([], [1, 3], [0, 3, 3], [0, 9], [[0]]):
        with pytest.raises(DatasetError, match="episode starts"):
            build(episode_starts=bad)


def test_columns_are_frozen():
    data = build()
    for name in (
        "observations",
        "actions",
        "rewards",
        "next_observations",
        "terminals",
        "next_actions",
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 0


def test_views_of_episodes():
    data = build()
    run = data.select([1, 2])
    assert np.shares_memory(run.observations, data.observations)
    assert run.rewards.tolist() == [3, 4, 5, 6, 7, 8]
    scattered = data.select([2, 0])
    assert scattered.rewards.tolist() == [6, 7, 8, 0, 1, 2]
    assert scattered.episode_starts.tolist() == [0, 3]
    assert scattered.next_observations[3:].tolist() == data.next_observations[:3].tolist()
    assert scattered.next_action_valid.tolist() == [True, True, False] * 2
    episode = data.episode(1)
    assert len(episode) == 3 and np.shares_memory(episode.actions, data.actions)
    for bad in ([], [3], [-1], [[0]]):
        with pytest.raises(DatasetError):
            data.select(bad)


def test_selecting_all_keeps_the_fingerprint():
    data = build()
    assert data.select([0, 1, 2]).fingerprint == data.fingerprint
    assert data.select([1, 0, 2]).fingerprint != data.fingerprint


def test_fingerprint_ignores_precision_and_sign_of_zero():
    data = build()
    observations = data.observations.astype("f8")
    assert build(observations=observations).fingerprint == data.fingerprint
    observations[0, 0] = -0.0
    assert build(observations=observations).fingerprint == data.fingerprint
    assert build(observations=observations + 1e-3).fingerprint != data.fingerprint


def test_returns_and_statistics():
    data = build()
    assert data.episode_returns.tolist() == [3, 12, 21]
    mean, deviation = data.observation_statistics
    np.testing.assert_allclose(mean, [8, 9])
    np.testing.assert_allclose(deviation, np.arange(0, 18, 2).std())
    with pytest.raises(DatasetError, match="no rewards"):
        _ = build(rewards=None).episode_returns


def test_bounds_are_the_files_or_the_datas():
    low, high, stated = build().action_bounds()
    assert (low.tolist(), high.tolist(), stated) == ([0], [8], False)
    origin = Origin(action_low=np.array([-9.0]), action_high=np.array([9.0]))
    assert build(origin=origin).action_bounds()[2]


def test_integer_actions_stay_and_other_integers_do_not():
    data = build(
        actions=np.arange(9), observations=np.arange(18).reshape(9, 2), rewards=np.ones(9, "i4")
    )
    assert data.discrete_actions and data.actions.dtype == np.int64
    assert data.observations.dtype == np.float64  # float32 would lose large integers
    assert data.rewards.dtype == np.float64
    assert build(observations=np.zeros((9, 2), "f2")).observations.dtype == np.float32


@pytest.mark.parametrize(
    "change",
    [
        {"rewards": np.zeros(8)},
        {"rewards": np.zeros((9, 2))},
        {"actions": np.zeros((9, 2, 2))},
        {"observations": np.zeros((9, 0))},
        {"terminals": np.zeros((9, 2), bool)},
        {"next_observations": np.zeros((9, 3))},
    ],
)
def test_columns_that_do_not_fit(change):
    with pytest.raises(ShapeError):
        build(**change)


def test_pickling_for_workers():
    data = build()
    copy = pickle.loads(pickle.dumps(data))
    assert copy.fingerprint == data.fingerprint
