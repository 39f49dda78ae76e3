"""Data at the edges of what exists: a report with cautions, never an exception or a warning of NumPy."""

import json

import numpy as np
import pytest
from motion_data import dataset_of, made_motion

import rlassay
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.motion.trajectories import Motion
from rlassay.report.demonstrations import LISTED, demonstrations_view
from rlassay.scoring.unrewarded import demonstrated

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def report_of(states, actions, starts=(0,), extras=None):
    data = dataset_of(Motion(np.asarray(states), np.asarray(actions), np.asarray(starts)), extras)
    report = rlassay.demonstrations(data)
    assert len(report.table) == len(starts)
    on_card_and_page(data)
    return report


def on_card_and_page(data):
    """What `score` tells of it, as JSON and as a part of the page."""
    told = demonstrated(data, "rlassay score x.npz")
    json.dumps(told, allow_nan=False)
    view = demonstrations_view(told, "card0")
    assert view is not None and len(view["episodes"]["rows"]) == min(data.episode_count, LISTED)
    chart = view["charts"]["card0-timeline"]
    assert sum(one["length"] for one in chart["episodes"]) <= len(data)


def statuses(report):
    return {finding.code: finding.status for finding in report.findings}


def test_two_frames():
    report = report_of([[0.0, 1.0], [1.0, 2.0]], [[0.1], [0.2]])
    assert statuses(report)["enough"] == "unknown" and statuses(report)["modes"] == "unknown"
    assert report.watch == () and any("too few" in caution for caution in report.cautions)


def test_one_frame():
    assert report_of([[0.0, 1.0]], [[0.1]]).watch == ()


def test_one_episode():
    made = made_motion(count=1, length=300)
    report = report_of(made.states, made.actions)
    assert (
        np.isfinite(report.table["smoothness"]).all() and "disagreement" not in report.table.scores
    )
    assert any("disagreement" in caution for caution in report.cautions)


def test_constant_actions():
    made = made_motion()
    report = report_of(made.states, np.ones_like(made.actions), made.starts)
    assert statuses(report)["dead_actions"] == "look" and statuses(report)["enough"] == "unknown"
    assert (report.table["tremor"] == 0).all() and statuses(report)["tracking"] == "unknown"


def test_constant_states():
    made = made_motion()
    report = report_of(np.ones_like(made.states), made.actions, made.starts)
    assert statuses(report)["dead_states"] == "look"


def test_everything_constant():
    report = report_of(np.ones((40, 2)), np.ones((40, 2)), np.arange(4) * 10)
    assert (report.table["idle"] == 1).all()


def test_two_hundred_joints():
    made = made_motion(count=10, length=60, dimensions=200)
    report = report_of(made.states, made.actions, made.starts)
    assert len(report.joints["states"].low) == 200 and statuses(report)["tracking"] == "good"


def test_episodes_of_one_and_of_a_hundred_thousand_frames():
    rng = np.random.default_rng(0)
    lengths = [1, 100_000, 1, 500, 500, 2]
    rows = sum(lengths)
    states = np.sin(np.arange(rows) / 30)[:, None] * [1, 2, 3] + 0.05 * rng.normal(size=(rows, 3))
    starts = np.cumsum([0, *lengths[:-1]])
    report = report_of(states, np.roll(states, -1, axis=0)[:, :2], starts)
    assert np.isnan(report.table["smoothness"][[0, 2, 5]]).all()
    assert np.isfinite(report.table["smoothness"][[1, 3, 4]]).all()


def test_episodes_of_one_frame_only():
    rng = np.random.default_rng(0)
    report = report_of(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), np.arange(30))
    assert "smoothness" not in report.table.scores


def test_numbers_that_are_none():
    made = made_motion()
    states = made.states.copy()
    states[5:9, 1] = np.nan
    report = report_of(states, made.actions, made.starts)
    assert any("4 rows of the observations hold NaN" in caution for caution in report.cautions)


def test_huge_and_tiny_numbers():
    made = made_motion()
    states = made.states * [1e30, 1e-30, 1.0, 1e6]
    assert np.isfinite(report_of(states, made.actions, made.starts).table["smoothness"]).all()


def test_discrete_actions():
    made = made_motion()
    data = Dataset.from_columns(
        observations=made.states.astype(np.float32),
        actions=(made.actions[:, :1] > 0).astype(np.int64),
        rewards=None,
        terminals=np.zeros(len(made.states), bool),
        episode_starts=made.starts,
    )
    report = rlassay.demonstrations(data)
    assert "saturation" not in report.table.scores and "disagreement" in report.table.scores
    on_card_and_page(data)


def test_equal_episodes():
    made = made_motion(count=1)
    states, actions = np.tile(made.states, (15, 1)), np.tile(made.actions, (15, 1))
    report = report_of(states, actions, np.arange(15) * 120)
    assert statuses(report)["repetitions"] == "look"


def test_the_score_of_two_frames_is_one_sentence_on_why():
    data = dataset_of(Motion(np.array([[0.0], [1.0]]), np.array([[0.1], [0.2]]), np.array([0])))
    with pytest.raises(DatasetError, match="2 transitions are too few to learn anything from"):
        rlassay.score(data)


def test_the_card_of_one_episode_has_its_warnings():
    made = made_motion(count=1, length=300)
    card = rlassay.score(dataset_of(made), scores=["knn_entropy"])
    assert "one_episode" in {warning.code for warning in card.warnings}
    assert any("no timestamps" in caution for caution in card.demonstrations["cautions"])
