"""The verdict of files whose returns are known: label, forecasts, advice and evidence."""

from dataclasses import replace

import numpy as np
import pytest
from verdict_data import CALIBRATION, DATASET, NO_FAULT, episodes_of

from rlassay.data.references import Reference
from rlassay.verdict.calibration import outside
from rlassay.verdict.features import features_of
from rlassay.verdict.verdict import verdict_of

REFERENCE = Reference(0.0, 200.0, "test")  # a return of 100 is 50 points


def told(data, reference: Reference | None = REFERENCE, inspection=NO_FAULT, command=""):
    verdict, doubts = verdict_of(data, reference, inspection, command, CALIBRATION)
    assert verdict is not None and doubts == []
    return verdict


def around(level, count=40, deviation=1.0, seed=0):
    return level + deviation * np.random.default_rng(seed).normal(size=count)


def test_forecasts_are_the_mean_return_and_that_by_step():
    returns, lengths = np.tile([60.0, 120.0], 20), np.tile([25, 75], 20)
    verdict = told(episodes_of(returns, lengths))
    assert verdict["cloning"]["value"] == pytest.approx(45)
    assert verdict["cloning"]["interval"] == pytest.approx([33, 57])
    assert verdict["offline_rl"]["value"] == pytest.approx(52.5)  # (60 x 25 + 120 x 75) / 100 = 105
    assert verdict["offline_rl"]["interval"] == pytest.approx([44.5, 60.5])
    assert verdict["cloning"]["unit"] == "normalised score"
    assert verdict["cloning"]["own_scale"] == 0.5
    assert verdict["advice"]["action"] == "offline-rl"


def test_without_reference_returns_it_is_told_in_the_files_own_terms():
    returns, lengths = np.arange(1.0, 41.0), np.full(40, 50)
    verdict = told(episodes_of(returns, lengths), None)
    part = verdict["cloning"]
    assert part["unit"] == "return" and part["value"] == pytest.approx(20.5)
    assert part["interval"] == pytest.approx([12.5, 28.5])  # 0.2 of the largest, 40
    assert part["own_scale"] == 0.5
    assert verdict["label"] == "consistent" and verdict["advice"]["action"] == "clone"
    assert "points" not in verdict["advice"]["reason"]


def test_without_reference_returns_two_groups_or_a_gain_of_a_tenth_are_mixed():
    groups = episodes_of(np.concatenate([around(10), around(100)]))
    assert told(groups, None)["label"] == "mixed"
    longer = episodes_of(np.arange(1.0, 41.0), np.arange(20, 180, 4))
    verdict = told(longer, None)
    gain = verdict["offline_rl"]["own_scale"] - verdict["cloning"]["own_scale"]
    assert gain >= 0.1 and verdict["label"] == "mixed"
    assert verdict["advice"]["action"] == "offline-rl"


def test_equal_returns_are_not_worse_than_their_mean():
    verdict = told(episodes_of(np.full(40, 0.1), np.tile([25, 75], 20)), None)
    assert verdict["cloning"]["own_scale"] == 0 == verdict["offline_rl"]["own_scale"]


@pytest.mark.parametrize(
    ("returns", "label", "action"),
    [
        (around(10), "near-random", "collect-more"),
        (around(60), "weak", "clone"),
        (around(120), "consistent", "clone"),
        (around(180), "expert-like", "clone"),
        (np.concatenate([around(40), around(180)]), "mixed", "clone"),
    ],
)
def test_labels_by_forecast(returns, label, action):
    verdict = told(episodes_of(returns))
    assert verdict["label"] == label and verdict["advice"]["action"] == action
    assert len(verdict["evidence"]) == 3


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (episodes_of(around(120), dims=(6, 2)), "observations of 6 dimensions"),
        (episodes_of(around(120), dims=(3, 4)), "actions of 4 dimensions"),
        (episodes_of(around(120, 60), 18), "a longest episode of 18 steps"),
        (episodes_of(around(120), np.where(np.arange(40) == 0, 300, 50)), "episode of 300 steps"),
        (episodes_of(around(120), 250), "episodes of 250 steps on average"),
        (episodes_of(around(120), discrete=True), "discrete actions"),
    ],
)
def test_outside_calibration_names_what_is_outside(data, named):
    verdict = told(data)
    assert verdict["label"] == "outside-calibration"
    assert named in verdict["evidence"][2] and "guess" in verdict["evidence"][2]
    assert verdict["cloning"]["value"] == pytest.approx(60, abs=1)  # shown, as a guess


def test_a_file_that_repeats_a_few_states_is_outside_by_coverage():
    data = episodes_of(around(120))
    still = {name: np.asarray(getattr(data, name)) for name in ("observations", "actions")}
    still = {name: values * 0 + values[0] for name, values in still.items()}
    from probes import with_columns

    verdict = told(with_columns(data, **still))
    assert verdict["label"] == "outside-calibration" and "coverage" in verdict["evidence"][2]


def test_too_small_by_either_count():
    few_episodes, few_rows = episodes_of(around(120, 9), 200), episodes_of(around(120, 30), 30)
    for data, of_rows, of_episodes in (
        (
            few_episodes,
            "Its 1,800 transitions would be enough.",
            "It has 9 episodes; a forecast needs 10.",
        ),
        (
            few_rows,
            "It has 900 transitions; a forecast needs 1,000.",
            "Its 30 episodes would be enough.",
        ),
    ):
        verdict = told(data)
        assert verdict["label"] == "too-small" and verdict["cloning"] is None
        assert verdict["evidence"][:2] == [of_rows, of_episodes]
        assert verdict["advice"]["action"] == "collect-more"


def test_not_rankable_without_rewards_or_with_one_reward():
    from probes import with_columns

    data = episodes_of(around(120))
    without = told(with_columns(data, rewards=None))
    constant = told(with_columns(data, rewards=np.full(len(data), 2, np.float32)))
    assert without["label"] == constant["label"] == "not-rankable"
    assert without["advice"]["action"] == "clone"  # demonstrations can still be cloned
    assert constant["advice"]["action"] == "collect-more"
    assert "Every reward is 2" in constant["evidence"][0]


def test_nothing_can_be_said_of_returns_that_are_not_finite():
    data = episodes_of(np.where(np.arange(40) == 3, np.inf, 10.0))
    verdict, (doubt,) = verdict_of(data, REFERENCE, NO_FAULT, "", CALIBRATION)
    assert verdict is None and "verdict" in doubt.code


def test_a_failing_inspection_asks_for_repair():
    broken = {"checks": [{"status": "fail", "remedy": "run `rlassay repair x -o y --only drop`"}]}
    assert told(episodes_of(around(180)), inspection=broken)["advice"]["action"] == "repair"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"coverage": 0.01}, "a coverage of 0.01 (calibrated: 0.05 to 1)"),
        ({"coverage": 0.0498}, "a coverage of 0.0498 (calibrated: 0.0500 to 1)"),
        (
            {"mean_length": 200.4, "longest": 200},
            "episodes of 200.4 steps on average (calibrated: 20 to 200)",
        ),
    ],
)
def test_a_value_just_outside_is_told_from_the_bound(changes, told):
    features = replace(features_of(episodes_of(np.full(40, 50.0))), **changes)
    assert told in outside(CALIBRATION, features, discrete=False)


def test_the_calibration_is_named_and_the_nearest_dataset():
    found = told(episodes_of(around(120)))["calibration"]
    assert found == {
        "version": 1,
        "oracle": "a test",
        "environments": ["Here-v0", "There-v0"],
        "nearest": "Here-v0 mixed",
        "nearest_reached": {"cloning": 51.0, "offline_rl": 62.0, "best": 70.0, "best_agent": "iql"},
    }
    assert told(episodes_of(around(5)))["calibration"]["nearest"] == "There-v0 poor"


def test_without_reference_returns_the_nearest_of_a_calibrated_task_goes_by_the_return_itself():
    """A length that differs by a tenth of a step among the task's own is no distance."""
    of_task = [
        {
            **DATASET,
            "environment": "Here-v0",
            "dataset": name,
            "mean_return": level,
            "return_by_step": level,
            "mean_length": length,
        }
        for name, level, length in (("poor", 40.0, 49.9), ("good", 95.0, 50.0))
    ]
    elsewhere = {**DATASET, "environment": "There-v0", "dataset": "mixed", "mean_length": 150.0}
    calibration = replace(CALIBRATION, datasets=(elsewhere, *of_task))
    for level, name in ((10, "poor"), (60, "poor"), (90, "good")):
        data = episodes_of(around(level), env_id="Here-v0")
        verdict, _ = verdict_of(data, None, NO_FAULT, calibration=calibration)
        assert verdict is not None and verdict["calibration"]["nearest"] == f"Here-v0 {name}"


def test_another_unit_of_reward_changes_no_label_and_no_share():
    returns, lengths = np.arange(1.0, 41.0), np.arange(30, 110, 2)
    plain, scaled = (told(episodes_of(k * returns, lengths), None) for k in (1, 1000))
    assert plain["label"] == scaled["label"]
    for part in ("cloning", "offline_rl"):
        assert plain[part]["own_scale"] == scaled[part]["own_scale"]
        assert np.multiply(plain[part]["interval"], 1000) == pytest.approx(scaled[part]["interval"])
