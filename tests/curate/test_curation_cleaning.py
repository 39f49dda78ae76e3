"""Repetitions and idle ends."""

import numpy as np
import pytest
from curate_data import made_dataset

from rlassay.curation import apply_rule
from rlassay.curation.cleaning import moving_rows
from rlassay.curation.rule import Rule
from rlassay.data.dataset import Dataset
from rlassay.data.duplicates import repeated_episodes
from rlassay.errors import DatasetError


def test_a_repetition_of_an_earlier_episode_is_found():
    data = made_dataset()
    twice = data.select([1, 0, 1, 2, 0])
    assert repeated_episodes(twice).tolist() == [2, 4]


def test_a_difference_in_one_number_is_no_repetition():
    data = made_dataset(lengths=(4, 4), terminal=())
    rewards = np.concatenate([data.rewards[:4], data.rewards[:4]])
    rewards[-1] += 1
    columns = {n: np.concatenate([getattr(data, n)[:4]] * 2) for n in ("observations", "actions")}
    flags = {"terminals": data.terminals, "timeouts": data.timeouts}
    other = Dataset.from_columns(**columns, **flags, rewards=rewards)
    assert repeated_episodes(other).tolist() == []


def still(rows, value=0.0):
    return np.full((rows, 2), value)


def episode_with_pauses(start=3, motion=5, end=4):
    """Observations that rest, move, rest; actions that are zero while resting."""
    moving = np.cumsum(np.ones((motion, 2)), axis=0)
    observations = np.concatenate([still(start), moving, still(end, motion)])
    actions = np.concatenate([still(start), np.ones((motion, 2)) * [1, -1], still(end)])
    return observations, actions


def paused_dataset(terminal=False, parts=1):
    observations, actions = episode_with_pauses()
    rows = len(observations)
    terminals, timeouts = np.zeros(rows * parts, bool), np.zeros(rows * parts, bool)
    (terminals if terminal else timeouts)[rows - 1 :: rows] = True
    return Dataset.from_columns(
        observations=np.tile(observations, (parts, 1)),
        actions=np.tile(actions, (parts, 1)),
        rewards=np.arange(rows * parts, dtype=float),
        terminals=terminals,
        timeouts=timeouts,
    )


def test_idle_rows_at_both_ends_go_and_the_motion_stays():
    first, stop = moving_rows(paused_dataset(), 0.01)
    assert (first.tolist(), stop.tolist()) == ([2], [9])


def test_a_pause_in_the_middle_stays():
    observations, actions = episode_with_pauses(motion=2)
    twice = Dataset.from_columns(
        observations=np.concatenate([observations, observations]),
        actions=np.concatenate([actions, actions]),
        rewards=None,
        terminals=np.zeros(18, bool),
    )
    first, stop = moving_rows(twice, 0.01)
    assert (first.tolist(), stop.tolist()) == ([2], [15])


def test_the_cut_end_is_a_timeout_and_rows_are_unchanged():
    data = paused_dataset(parts=2)
    curation = apply_rule(data, Rule(trim_idle=True))
    assert curation.idle_rows == 2 * 5
    trimmed = curation.data
    assert trimmed.rewards.tolist() == [*range(2, 9), *range(14, 21)]
    assert np.flatnonzero(trimmed.timeouts).tolist() == [6, 13]
    assert trimmed.next_valid.all() and trimmed.episode_starts.tolist() == [0, 7]
    assert curation.kept.tolist() == [0, 1]


def test_a_terminal_is_never_cut_off():
    first, stop = moving_rows(paused_dataset(terminal=True), 0.01)
    assert (first.tolist(), stop.tolist()) == ([2], [12])


def test_an_episode_without_motion_is_dropped():
    observations, actions = episode_with_pauses()
    rows = len(observations)
    data = Dataset.from_columns(
        observations=np.concatenate([observations, still(4)]),
        actions=np.concatenate([actions, still(4)]),
        rewards=None,
        terminals=np.zeros(rows + 4, bool),
        episode_starts=[0, rows],
    )
    curation = apply_rule(data, Rule(trim_idle=True))
    assert (curation.kept.tolist(), curation.dropped.tolist()) == ([0], [1])


def test_the_tolerance_matters():
    data = paused_dataset()
    noisy = Dataset.from_columns(
        observations=data.observations + 0.02 * np.random.default_rng(0).normal(size=(12, 2)),
        actions=data.actions,
        rewards=None,
        terminals=np.zeros(12, bool),
    )
    assert moving_rows(noisy, 1e-4)[0].tolist() == [0]
    assert moving_rows(noisy, 0.1)[0].tolist() == [2]


def test_nothing_moves_is_one_sentence():
    data = Dataset.from_columns(
        observations=still(5), actions=still(5), rewards=None, terminals=np.zeros(5, bool)
    )
    with pytest.raises(DatasetError, match="no row of the dataset moves"):
        apply_rule(data, Rule(trim_idle=True))
