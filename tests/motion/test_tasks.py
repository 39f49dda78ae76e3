"""Labels of tasks: by hand, in the made file of two tasks, and where nothing can be said."""

import numpy as np
import pytest
from motion_data import changed, dataset_of, made_motion

import rlassay
from rlassay.motion.tasks import task_mismatch
from rlassay.motion.trajectories import Motion
from rlassay.study.demonstrations.tasks import task_rows, two_tasks


def standing(places, tasks):
    """Episodes of two equal frames: the course is the place."""
    rows = np.repeat(np.asarray(places, float)[:, None], 2, axis=0)
    return Motion(rows, rows, np.arange(len(places)) * 2, tasks=np.asarray(tasks))


def test_the_share_by_hand():
    """Own task at 0, 1, 2, 7, the other at 8, 9, 10, 11: each asks its three nearest."""
    found = task_mismatch(standing([0, 1, 2, 7, 8, 9, 10, 11], [0] * 4 + [1] * 4))
    np.testing.assert_allclose(found, [0, 0, 0, 1, 1 / 3, 0, 0, 0])


def test_a_wrong_label_stands_out():
    found = task_mismatch(standing([0, 1, 2, 3, 10, 11, 12, 13, 11.5], [0] * 4 + [1] * 4 + [0]))
    assert found.argmax() == 8 and found[8] == 1


def test_a_task_of_few_episodes_is_not_outvoted():
    places = [*range(20), 50, 51, 52]
    assert (task_mismatch(standing(places, [0] * 20 + [1] * 3))[20:] == 0).all()


@pytest.mark.parametrize("tasks", [None, [0] * 8])
def test_nothing_is_said_without_two_tasks(tasks):
    motion = standing(range(8), [0] * 8)
    assert np.isnan(task_mismatch(changed(motion, tasks=tasks and np.asarray(tasks)))).all()


def test_a_task_of_two_episodes_is_left_out_and_the_others_are_judged():
    found = task_mismatch(standing(range(10), [0] * 4 + [1] * 4 + [2] * 2))
    assert np.isnan(found[8:]).all() and np.isfinite(found[:8]).all()


def test_equal_episodes_have_a_share():
    assert (task_mismatch(standing([1] * 4 + [5] * 4, [0] * 4 + [1] * 4)) == 0).all()
    assert np.isfinite(task_mismatch(standing([1] * 20 + [2], [0] * 10 + [1] * 11))).all()


def test_the_report_names_mislabelled_episodes():
    motion, wrong = two_tasks(6.0)
    report = rlassay.demonstrations(dataset_of(motion, {"task_index": motion.tasks}))
    finding = next(one for one in report.findings if one.code == "task_labels")
    assert finding.message.endswith(", ".join(map(str, np.flatnonzero(wrong))))
    quiet = rlassay.demonstrations(dataset_of(made_motion()))
    assert "task_labels" not in {one.code for one in quiet.findings}
    assert not any("task_mismatch" in caution for caution in quiet.cautions)


def test_only_the_label_s_own_score_knows_of_labels():
    """Mislabelling changes no movement: any other score must stay near chance."""
    rows = {(row["apart"], row["score_name"]): row for row in task_rows(["idle", "task_mismatch"])}
    assert rows["far", "idle"]["value"] == 0.5
    far, near = (rows[apart, "task_mismatch"]["value"] for apart in ("far", "near"))
    assert far > near > 0.5
