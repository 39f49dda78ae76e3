"""Scores of movement against closed forms, and against made faults whose place is known."""

import numpy as np
import pytest
from motion_data import changed, made_motion
from scipy.integrate import quad

from rlassay.motion.agreement import conflict, disagreement
from rlassay.motion.ends import outlying_end, outlying_start, strangeness
from rlassay.motion.information import ksg, mutual_information
from rlassay.motion.length import adjust_for_length
from rlassay.motion.likeness import distinctness
from rlassay.motion.pauses import frozen, idle, long_runs, saturation, stalled
from rlassay.motion.smoothness import fast_share, smoothness, spectral_arc_length, tremor
from rlassay.motion.tracking import _matched, _tracked, lag_error, track, tracking_error
from rlassay.motion.trajectories import Motion, principal, scaled, thinned


@pytest.fixture(scope="module")
def motion():
    return made_motion()


def worst(values: np.ndarray, direction: str) -> int:
    return int(np.nanargmax(values) if direction == "lower" else np.nanargmin(values))


# -- smoothness ----------------------------------------------------------------------------------------------------


def test_arc_length_of_a_gaussian_profile_is_the_closed_form():
    """Speed exp(-t^2 / 2 s^2) has the spectrum exp(-2 pi^2 s^2 f^2), cut where it falls below 0.05."""
    rate, width = 1_000.0, 0.1
    time = np.arange(-2, 2, 1 / rate)
    measured = spectral_arc_length(np.exp(-(time**2) / (2 * width**2)), rate)
    last = np.sqrt(np.log(20) / (2 * np.pi**2 * width**2))

    def slope(u):
        return -4 * np.pi**2 * width**2 * last**2 * u * np.exp(-2 * (np.pi * width * last * u) ** 2)

    expected = -quad(lambda u: np.hypot(1, slope(u)), 0, 1)[0]
    assert measured == pytest.approx(expected, abs=0.01)


def test_arc_length_does_not_depend_on_size_and_falls_with_submovements():
    time = np.linspace(0, 1, 200)
    one = np.exp(-((time - 0.5) ** 2) / 0.01)
    two = np.exp(-((time - 0.3) ** 2) / 0.004) + np.exp(-((time - 0.7) ** 2) / 0.004)
    assert spectral_arc_length(3 * one, 200.0) == pytest.approx(spectral_arc_length(one, 200.0))
    assert spectral_arc_length(two, 200.0) < spectral_arc_length(one, 200.0) - 0.2
    assert spectral_arc_length(np.zeros(50)) == 0.0


def test_a_jerky_episode_is_the_least_smooth(motion):
    states = motion.states.copy()
    shake = np.where(np.arange(120) % 8 < 4, 0.3, 0.0)[:, None]
    states[motion.starts[7] : motion.stops[7]] += shake
    assert worst(smoothness(changed(motion, states=states)), "higher") == 7


def test_half_of_white_noise_is_fast_and_none_of_a_slow_wave():
    rng = np.random.default_rng(0)
    assert fast_share(rng.normal(size=(100_000, 2))) == pytest.approx(0.5, abs=0.01)
    assert fast_share(np.sin(np.arange(2_000) / 50)[:, None]) < 1e-4
    assert fast_share(np.ones((100, 3))) == 0.0
    fast = np.sin(2 * np.pi * 0.4 * np.arange(2_000))[:, None]
    assert fast_share(fast) > 0.999


def test_a_trembling_hand_is_found(motion):
    actions = motion.actions.copy()
    noise = np.random.default_rng(1).normal(size=(120, 4))
    actions[motion.starts[3] : motion.stops[3]] += 0.3 * noise
    assert worst(tremor(changed(motion, actions=actions)), "lower") == 3


# -- pauses ---------------------------------------------------------------------------------------------------------


def test_runs_end_with_the_episode():
    flags = np.array([1, 1, 1, 1, 0, 1, 1], bool)
    assert long_runs(flags, np.zeros(7), 3).tolist() == [True] * 4 + [False] * 3
    assert not long_runs(flags, np.array([0, 0, 1, 1, 1, 1, 1]), 3).any()


def test_idle_stalled_and_frozen_are_the_made_shares(motion):
    states, actions = motion.states.copy(), motion.actions.copy()
    first = motion.starts
    states[first[2] + 10 : first[2] + 41] = states[first[2] + 10]  # 30 still steps, action too
    actions[first[2] + 10 : first[2] + 41] = actions[first[2] + 10]
    states[first[4] + 10 : first[4] + 31] = states[first[4] + 10]  # 20 still steps, action moves
    states[first[6] : motion.stops[6], 1] = 0.7  # one of four joints hangs
    made = changed(motion, states=states, actions=actions)
    assert idle(made)[2] == pytest.approx(30 / 119)
    assert stalled(made)[4] == pytest.approx(20 / 119)
    assert frozen(made)[6] == pytest.approx(1 / 4)
    for score, place in ((idle, 2), (stalled, 4), (frozen, 6)):
        others = np.delete(score(made), [place])
        assert others.max() == 0, score


def test_saturation_counts_steps_at_a_bound():
    actions = np.zeros((10, 2))
    actions[:3, 0] = 1.0
    actions[2:5, 1] = -1.0
    made = Motion(
        np.arange(20.0).reshape(10, 2), actions, np.array([0, 5]), np.full(2, -1.0), np.ones(2)
    )
    assert saturation(made).tolist() == [1.0, 0.0]
    assert saturation(changed(made, actions=np.ones((10, 2)), low=None)).tolist() == [0.0, 0.0]


# -- tracking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [1, 4])
def test_the_lag_of_a_follower_is_found(lag):
    tracking = track(made_motion(lag=lag))
    assert tracking.kind == "matched" and tracking.usual == lag
    assert (tracking.lag == lag).mean() > 0.9 and tracking.strength > 0.9
    assert tracking.per_joint.min() > 0.9


def test_a_lag_at_the_edge_of_the_search_is_no_lag():
    """States of 14 steps ago follow best at the last lag that is searched, which says nothing."""
    tracking = _tracked(late := made_motion(lag=14), *_matched(late), "matched")
    assert tracking.usual == 10 and tracking.strength == 0 and not tracking.follows


def test_a_joint_that_does_not_follow_is_named(motion):
    states = motion.states.copy()
    states[:, 2] = np.random.default_rng(0).permutation(states[:, 2])
    found = track(changed(motion, states=states)).per_joint
    assert abs(found[2]) < 0.2 and np.delete(found, 2).min() > 0.9


def test_a_desynchronised_episode_has_the_outlying_lag(motion):
    actions = motion.actions.copy()
    rows = slice(motion.starts[5], motion.stops[5])
    actions[rows] = np.roll(actions[rows], 6, axis=0)
    made = changed(motion, actions=actions)
    assert worst(lag_error(made), "lower") == 5 and abs(lag_error(made)[5] - 6) <= 1


def test_torques_move_the_state_through_a_linear_map():
    """Velocities are pushed by two commands: states and actions differ in number."""
    rng = np.random.default_rng(0)
    count, length = 12, 200
    push = rng.normal(size=(2, 3))
    actions = rng.normal(size=(count * length, 2))
    states = np.zeros((count * length, 3))
    for row in range(1, len(states)):
        before = np.zeros(3) if row % length == 0 else states[row - 1]
        states[row] = 0.9 * before + actions[row - 1] @ push + 0.05 * rng.normal(size=3)
    made = Motion(states, actions, np.arange(count) * length)
    tracking = track(made)
    assert tracking.kind == "mapped" and tracking.usual == 0 and tracking.strength > 0.95
    late = actions.copy()
    late[: 1 * length] = np.roll(late[:length], 3, axis=0)
    assert lag_error(changed(made, actions=late))[0] == 3


def test_wrongly_recorded_actions_are_not_followed(motion):
    actions = motion.actions.copy()
    rows = slice(motion.starts[9], motion.stops[9])
    actions[rows] = np.random.default_rng(2).permutation(actions[rows])
    assert worst(tracking_error(changed(motion, actions=actions)), "lower") == 9


def test_actions_without_influence_have_no_lag():
    rng = np.random.default_rng(0)
    made = Motion(
        rng.normal(size=(2_000, 3)).cumsum(0), rng.normal(size=(2_000, 2)), np.arange(20) * 100
    )
    assert np.isnan(lag_error(made)).all() and np.isnan(tracking_error(made)).all()


# -- agreement and information --------------------------------------------------------------------------------------


def test_conflict_is_the_share_of_noise():
    """Actions are a function of the state plus noise of a known variance."""
    rng = np.random.default_rng(0)
    states = rng.uniform(size=(20_000, 1))
    actions = np.sin(6 * states) + 0.3 * rng.normal(size=states.shape)
    errors = conflict(states, actions, np.arange(20_000) // 100)
    assert errors.mean() == pytest.approx(0.09, rel=0.03)


def test_the_dissenting_episode_disagrees_most(motion):
    actions = motion.actions.copy()
    actions[motion.starts[11] : motion.stops[11]] *= -1
    made = changed(motion, actions=actions)
    values = disagreement(made)
    assert worst(values, "lower") == 11 and values[11] > 4 * np.median(values)


@pytest.mark.parametrize(("correlation", "error"), [(0.0, 0.012), (0.6, 0.025), (0.9, 0.03)])
def test_information_of_gaussians_is_the_closed_form(correlation, error):
    values = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        left = rng.normal(size=(1_000, 1))
        right = correlation * left + np.sqrt(1 - correlation**2) * rng.normal(size=left.shape)
        values.append(ksg(left, right).mean())
    assert np.mean(values) == pytest.approx(-0.5 * np.log(1 - correlation**2), abs=error)


def test_information_does_not_depend_on_units_and_adds_over_columns():
    rng = np.random.default_rng(1)
    left = rng.normal(size=(2_000, 2))
    right = 0.8 * left + 0.6 * rng.normal(size=left.shape)
    value = ksg(left, right).mean()
    assert value == pytest.approx(-np.log(1 - 0.64), abs=0.1)
    both = Motion(left, right, np.array([0, 1_000]))
    other = Motion(1e3 * left, -1e-3 * right, np.array([0, 1_000]))
    assert mutual_information(both) == pytest.approx(mutual_information(other), abs=1e-3)


def test_random_actions_carry_the_least_information(motion):
    actions = motion.actions.copy()
    rows = slice(motion.starts[1], motion.stops[1])
    actions[rows] = np.random.default_rng(0).permutation(actions[rows])
    assert worst(mutual_information(changed(motion, actions=actions)), "higher") == 1


# -- ends, likeness -------------------------------------------------------------------------------------------------


def test_strangeness_is_the_distance_over_the_usual_one():
    points = np.append(np.arange(10.0), 100.0)[:, None]
    values = strangeness(points, k=1)
    assert values[:10].tolist() == [1.0] * 10 and values[10] == 91.0


def test_a_late_start_and_an_unfinished_end_stand_out(motion):
    states = motion.states.copy()
    states[motion.starts[4]] += 3.0
    states[motion.stops[8] - 1] -= 3.0
    made = changed(motion, states=states)
    assert worst(outlying_start(made), "lower") == 4 and worst(outlying_end(made), "lower") == 8


def test_a_repetition_has_no_distance(motion):
    states = motion.states.copy()
    states[motion.starts[13] : motion.stops[13]] = states[motion.starts[2] : motion.stops[2]]
    values = distinctness(changed(motion, states=states))
    assert np.flatnonzero(values < 1e-6).tolist() == [2, 13]
    assert np.median(values) == pytest.approx(1.0, abs=0.1)


# -- length, scaling ------------------------------------------------------------------------------------------------


def test_length_is_taken_out_and_outliers_are_left_in():
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 2_000, 200)
    noise = 0.1 * rng.normal(size=200)
    values = 3.0 * np.log(lengths) + noise
    values[:20] += 50
    adjusted = adjust_for_length(values, lengths)
    rest = adjusted[20:] - adjusted[20:].mean() - (noise[20:] - noise[20:].mean())
    assert np.abs(rest).max() < 0.2 and adjusted[:20].min() > adjusted[20:].max() + 40


def test_nothing_is_adjusted_without_a_reason():
    values = np.array([1.0, 5.0, np.nan, 2.0, 3.0, 4.0])
    assert np.array_equal(adjust_for_length(values, np.full(6, 10)), values, equal_nan=True)
    assert np.array_equal(
        adjust_for_length(values[:3], np.arange(1, 4)), values[:3], equal_nan=True
    )
    assert np.isnan(adjust_for_length(values, np.arange(1, 7))[2])


def test_scaling_drops_dead_columns_and_keeps_rare_jumps():
    rng = np.random.default_rng(0)
    jumps = np.zeros(1_000)
    jumps[::100] = 1.0
    made = scaled(np.stack([rng.normal(5, 2, 1_000), np.full(1_000, 3.0), jumps], axis=1))
    assert made.shape == (1_000, 2)
    assert made[:, 0].std() == pytest.approx(1.0, abs=0.1) and made[:, 1].max() < 50


def test_principal_directions_keep_the_variance():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 30)) + 1e-3 * rng.normal(size=(500, 30))
    assert principal(wide, 2).var(axis=0).sum() == pytest.approx(wide.var(axis=0).sum(), rel=1e-3)


def test_every_episode_keeps_rows_when_thinned():
    made = Motion(np.zeros((100_003, 1)), np.zeros((100_003, 1)), np.array([0, 1, 3]))
    rows = thinned(made, 1_000)
    assert len(rows) < 1_100 and np.unique(made.episode[rows]).tolist() == [0, 1, 2]
    assert len(np.unique(rows)) == len(rows)
