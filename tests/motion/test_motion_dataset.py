"""What is said about all episodes together, on data made so that the answer is known."""

import numpy as np
import pytest
from motion_data import changed, dataset_of, made_motion
from scipy.spatial.distance import pdist, squareform

import rlassay
from rlassay.motion.enough import extrapolated, fit_power_law, learning_curve
from rlassay.motion.findings import of_curve
from rlassay.motion.joints import ranges
from rlassay.motion.modes import best_grouping, find_modes, mean_silhouette
from rlassay.motion.scores import EPISODE_SCORES
from rlassay.motion.trajectories import Motion, motion_of
from rlassay.motion.watch import deviations


@pytest.fixture(scope="module")
def motion():
    return made_motion(count=24)


def mirrored(motion: Motion, episodes) -> Motion:
    """Some episodes take another way: their middle bends to the other side."""
    states, actions = motion.states.copy(), motion.actions.copy()
    for episode in episodes:
        bend = np.sin(np.linspace(0, np.pi, motion.lengths[episode]))[:, None]
        rows = slice(motion.starts[episode], motion.stops[episode])
        states[rows] += 2 * bend
        actions[rows] += 2 * bend
    return changed(motion, states=states, actions=actions)


def test_one_way_is_one_mode(motion):
    modes = find_modes(motion)
    assert modes is not None and modes.count == 1 and (modes.labels == 0).all()


def test_two_ways_are_two_modes_with_their_episodes(motion):
    other = np.arange(0, 24, 3)
    modes = find_modes(mirrored(motion, other))
    assert modes is not None and modes.count == 2
    assert modes.members(1).tolist() == other.tolist()  # the smaller one comes second
    assert modes.silhouette > modes.by_chance


def test_one_odd_episode_is_no_mode(motion):
    modes = find_modes(mirrored(motion, [5]))
    assert modes is not None and modes.count == 1
    assert np.flatnonzero(modes.labels == -1).tolist() == [5]


@pytest.mark.parametrize("seed", range(4))
def test_noise_has_one_mode(seed):
    """Normal and even clouds are cut by any grouping; chance does as well."""
    rng = np.random.default_rng(seed)
    made = Motion(rng.normal(size=(40 * 20, 2)), rng.normal(size=(40 * 20, 2)), np.arange(40) * 20)
    modes = find_modes(made)
    assert modes is not None and modes.count == 1


def test_silhouette_is_the_definition():
    points = np.array([[0.0], [1.0], [10.0], [12.0]])
    value = mean_silhouette(squareform(pdist(points)), np.array([0, 0, 1, 1]))
    parts = [(11 - 1) / 11, (10 - 1) / 10, (9.5 - 2) / 9.5, (11.5 - 2) / 11.5]
    assert value == pytest.approx(np.mean(parts))
    groups, best = best_grouping(np.repeat(points, 5, axis=0) + 1e-3 * np.arange(20)[:, None])
    assert best > 0.9 and len(np.unique(groups)) in (2, 4)


def test_the_power_law_is_found_again():
    sizes = np.array([2, 4, 8, 16, 32, 64])
    for floor, scale, power in ((0.1, 1.0, 0.5), (0.0, 2.0, 1.0), (0.3, 0.5, 0.25)):
        found = fit_power_law(sizes, floor + scale * sizes**-power)
        told = found[0] + found[1] * 128.0 ** -found[2]
        assert told == pytest.approx(floor + scale * 128.0**-power, rel=0.03)
    flat = fit_power_law(sizes, np.full(6, 0.4))
    assert flat[0] + flat[1] * 128.0 ** -flat[2] == pytest.approx(0.4)


def test_the_interval_holds_the_truth_and_the_gain_decides():
    sizes = np.array([2, 4, 8, 16, 32, 64])
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        falling = 0.05 + sizes**-0.5 + 0.005 * rng.normal(size=(5, 6))
        low, high = extrapolated(sizes, falling, "nearest").interval
        held.append(low <= 0.05 + 128**-0.5 <= high)
    assert 0.75 <= np.mean(held) <= 1.0  # of 90 %
    rng = np.random.default_rng(0)
    curve = extrapolated(sizes, sizes**-0.5 + 0.005 * rng.normal(size=(5, 6)), "nearest")
    assert not curve.enough and curve.gain == pytest.approx(1 - 0.5**0.5, abs=0.05)
    flat = extrapolated(sizes, np.full((5, 6), 0.2) + 1e-4 * rng.normal(size=(5, 6)), "nearest")
    assert flat.enough and flat.gain < 0.01


def test_more_episodes_lower_the_held_out_error(motion):
    curve = learning_curve(motion)
    assert curve is not None and curve.mean[-1] < curve.mean[0]
    assert curve.episodes[-1] == 18 and curve.errors.shape == (5, len(curve.episodes))
    again = learning_curve(motion)
    assert again is not None and np.array_equal(again.errors, curve.errors)


def test_a_linear_policy_is_learnt_by_the_linear_regressor():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(2_000, 3))
    made = Motion(states, states @ rng.normal(size=(3, 2)), np.arange(20) * 100)
    curve = learning_curve(made)
    assert curve is not None and curve.regressor == "linear" and curve.mean[-1] < 1e-3


def test_random_actions_cannot_be_learnt():
    rng = np.random.default_rng(0)
    made = Motion(rng.normal(size=(2_000, 3)), rng.normal(size=(2_000, 2)), np.arange(20) * 100)
    curve = learning_curve(made)
    assert curve is not None and curve.regressor == "constant"
    assert curve.mean[-1] == pytest.approx(1.0, abs=0.05)
    assert "can hardly be told" in of_curve(curve, 20).message


def test_dead_and_half_dead_columns_are_named(motion):
    states = motion.states.copy()
    states[:, 2] = 0.5
    rows = slice(motion.starts[3], motion.stops[3])
    states[rows, 1] = 0.1
    joints = ranges(changed(motion, states=states), "states")
    assert joints.dead.tolist() == [2] and joints.moving[2] == 0 and joints.moving[0] == 1
    assert {column: found.tolist() for column, found in joints.half_dead(24).items()} == {1: [3]}


def test_an_episode_of_one_frame_is_not_called_still():
    states = np.arange(10.0)[:, None]
    joints = ranges(Motion(states, states, np.array([0, 1, 5])), "states")
    assert joints.half_dead(3) == {}


def test_deviations_are_robust_and_one_sided():
    rng = np.random.default_rng(0)
    good = rng.normal(size=10_001)
    good[0] = np.nan
    found = deviations(good)
    assert found[0] == 0 and (found[good > np.nanmedian(good)] == 0).all()
    assert found[good < -2].min() == pytest.approx(2.0, abs=0.05)
    assert deviations(np.array([0.0, 0.0, 0.0, 0.0, -1.0])).argmax() == 4
    assert deviations(np.array([0.0, 0.0, 0.0, 0.0, -1e-6]), grain=0.01).max() < 1e-3


def test_the_report_names_the_episodes_to_watch_and_why(motion):
    actions, states = motion.actions.copy(), motion.states.copy()
    noise = np.random.default_rng(1).normal(size=(120, 4))
    actions[motion.starts[6] : motion.stops[6]] += 0.5 * noise
    states[motion.starts[17]] += 4.0
    report = rlassay.demonstrations(dataset_of(changed(motion, states=states, actions=actions)))
    watched = {each.episode: each for each in report.watch}
    assert {6, 17} <= set(watched) and len(report.watch) <= 5
    assert any("tremor 0." in reason for reason in watched[6].reasons)
    assert any(reason.startswith("outlying start ") for reason in watched[17].reasons)
    assert all("usual" in reason and "deviations" in reason for reason in watched[6].reasons)


def test_what_a_score_means_is_told_once(motion):
    actions = motion.actions.copy()
    noise = np.random.default_rng(1).normal(size=(120, 4))
    for episode, size in ((6, 0.5), (9, 0.4)):
        actions[motion.starts[episode] : motion.stops[episode]] += size * noise
    report = rlassay.demonstrations(dataset_of(changed(motion, actions=actions)))
    both = [r for each in report.watch for r in each.reasons if r.startswith("tremor 0.")]
    meaning = EPISODE_SCORES["tremor"].meaning
    assert len(both) > 1 and [meaning in reason for reason in both] == [True] + [False] * (
        len(both) - 1
    )


def test_clean_data_has_nothing_to_watch_for_long(motion):
    report = rlassay.demonstrations(dataset_of(motion))
    assert all(each.deviations < 10 for each in report.watch)
    statuses = {finding.code: finding.status for finding in report.findings}
    assert statuses["modes"] == "good" and statuses["tracking"] == "good"
    assert "repetitions" not in statuses and "dead_states" not in statuses


def test_the_json_is_whole_and_has_no_nan(motion):
    import json

    report = rlassay.demonstrations(dataset_of(motion))
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["schema"] == "rlassay.demonstrations/1"
    assert len(told["episodes"]["tremor.adjusted"]) == 24
    assert set(told["scores"]) == set(report.table.scores)
    assert told["scores"]["tremor"]["direction"] == "lower"
    assert told["learning_curve"]["episodes"][-1] == 18 and told["modes"]["count"] == 1


def test_the_table_ranks_episodes_for_curate(motion):
    data = dataset_of(motion)
    report = rlassay.demonstrations(data)
    kept = rlassay.curate(data, keep=0.5, by="disagreement.adjusted", table=report.table)
    good = -report.table["disagreement.adjusted"]
    assert kept.episode_count == 12
    assert np.array_equal(
        kept.observations, data.select(np.sort(np.argsort(-good)[:12])).observations
    )


def test_what_the_file_says_is_used(motion):
    rows = len(motion.states)
    success = np.zeros(rows)
    success[motion.stops - 1] = 1.0
    success[motion.stops[4] - 1] = 0.0
    step = np.arange(rows) - motion.starts[motion.episode]
    extras = {
        "success": success,
        "task_index": motion.episode % 2,
        "timestamp": step / 50.0,
    }
    data = dataset_of(motion, extras)
    read = motion_of(data)
    assert read.rate == pytest.approx(50.0) and read.cautions == ()
    assert read.success is not None and np.flatnonzero(read.success == 0).tolist() == [4]
    report = rlassay.demonstrations(data)
    messages = {finding.code: finding.message for finding in report.findings}
    assert messages["success"] == "23 of 24 episodes are marked as a success; not: 4"
    assert messages["tasks"] == "2 tasks, episodes of each: 0 (12), 1 (12)"
    assert report.tasks["1"]["episodes"] == list(range(1, 24, 2))
    assert report.table["success"][4] == 0


def test_uneven_and_missing_times_are_said(motion):
    step = (np.arange(len(motion.states)) - motion.starts[motion.episode]) / 50.0
    step[motion.starts[3] + 50 : motion.stops[3]] += 1.0
    uneven = motion_of(dataset_of(motion, {"timestamp": step}))
    assert uneven.rate == pytest.approx(50.0) and "1 steps" in uneven.cautions[0]
    assert motion_of(dataset_of(motion, metadata={"fps": 30})).rate == 30
    missing = motion_of(dataset_of(motion))
    assert missing.rate is None and "no timestamps" in missing.cautions[0]
    still = motion_of(dataset_of(motion, {"timestamp": np.zeros(len(step))}))
    assert still.rate is None and "do not advance" in still.cautions[0]
