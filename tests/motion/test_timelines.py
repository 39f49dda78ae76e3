"""Episodes over time: what is chosen, what is kept of long ones, and stretches by hand."""

import base64

import numpy as np
from motion_data import changed, made_motion

from rlassay.motion.frames import frame_scores
from rlassay.motion.timelines import COLUMNS, MOMENTS, WATCHED_MOMENTS, spans, timelines
from rlassay.motion.trajectories import Motion


def unpacked(column):
    (kind, text), *_ = column.items()
    return np.frombuffer(base64.b64decode(text), f"<{kind}")


def test_spans_by_hand():
    assert spans(np.array([1, 1, 0, 1, 0, 0, 1], bool)) == [[0, 1], [3, 3], [6, 6]]
    assert spans(np.zeros(4, bool)) == []


def test_of_many_spans_the_longest_stay_in_order():
    flags = np.tile([1, 0], 60).astype(bool)
    flags[100:110] = True
    found = spans(flags)
    assert len(found) == 40 and [100, 110] in found and found == sorted(found)


def test_watched_episodes_come_first_and_whole_where_they_are_short():
    motion = made_motion(count=20, length=120)
    told = timelines(motion, [7, 2])
    assert [one["episode"] for one in told["episodes"][:3]] == [7, 2, 0]
    assert len(told["episodes"]) == told["total"] == 20
    first = told["episodes"][0]
    np.testing.assert_array_equal(unpacked(first["frames"]), np.arange(120))
    columns = told["columns"]["states"]
    assert len(columns) == COLUMNS == len(first["states"])
    rows = motion.states[840:960, columns[0]]
    line = unpacked(first["states"][0])
    assert np.corrcoef(rows, line)[0, 1] > 0.999999


def test_a_short_spike_of_disagreement_survives_the_thinning():
    motion = made_motion(count=6, length=3_000)
    actions = motion.actions.copy()
    actions[1_234] += 50.0
    told = timelines(changed(motion, actions=actions), [0])
    spike = frame_scores(changed(motion, actions=actions))["disagreement"][1_234]
    shown = unpacked(told["episodes"][0]["disagreement"])
    assert len(shown) == WATCHED_MOMENTS
    assert np.isclose(shown.max(), spike)


def test_what_does_not_fit_is_left_out_evenly():
    told = timelines(made_motion(count=400, length=40), [399])
    chosen = [one["episode"] for one in told["episodes"]]
    assert chosen[0] == 399 and told["total"] == 400 and 90 < len(chosen) < 110
    assert max(np.diff(chosen[1:])) <= 5 and all(n >= 0 for n in chosen)
    assert len(unpacked(told["episodes"][1]["frames"])) == MOMENTS[0]


def test_constant_columns_and_single_frames_have_a_timeline():
    motion = Motion(np.ones((4, 2)), np.ones((4, 1)), np.array([0, 1]))
    told = timelines(motion, [])
    assert told["columns"] == {"states": [], "actions": []}
    assert [one["length"] for one in told["episodes"]] == [1, 3]


def test_saturation_is_drawn_where_the_bounds_are_known():
    motion = made_motion(count=3, length=50)
    motion.actions[10:20, 0] = motion.actions.max() + 1
    bounds = {"low": motion.actions.min(axis=0) - 1, "high": motion.actions.max(axis=0)}
    known = timelines(changed(motion, **bounds), [0])["episodes"][0]
    assert [10, 19] in known["saturation"]
    assert timelines(motion, [0])["episodes"][0]["saturation"] == []
