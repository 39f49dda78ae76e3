"""Keys of scores: whatever a number depends on is in its key, and no committed row is asked for again."""

import csv
from dataclasses import dataclass, field, replace

import pytest
from test_plan import RESULTS, planned, software_of_the_results  # noqa: F401 (a fixture)

from rlassay import critic, transport
from rlassay.scoring import PRESETS, SCORES, settings
from rlassay.settings import added_later, flatten, identifying
from rlassay.study import confirm, scoring, table1
from rlassay.study.grid import plan


def committed(study):
    with open(RESULTS / study / "scores.csv", newline="") as file:
        return {row["key"] for row in csv.DictReader(file)}


def keys(asked, names, seeds=3):
    return {
        cell.task.key
        for environment, datasets in planned(names).items()
        for scores, changes in asked
        for cell in scoring.score_cells(
            environment, list(datasets.values()), seeds, scores, changes
        )
    }


@pytest.mark.parametrize(
    ("study", "asked", "names"),
    [
        ("table1", table1.asked_scores(), plan.PANELS["all"]),
        ("confirm", [(confirm.JUDGED, {})], plan.FRESH_MIXTURES),
    ],
)
def test_no_committed_score_is_asked_for_again(study, asked, names, software_of_the_results):  # noqa: F811
    assert keys(asked, names) == committed(study)


def one_key(scores=("q",), changes=None):
    [data] = planned(["random"])["Hopper-v5"].values()
    return scoring.score_cells("Hopper-v5", [data], 1, scores, changes)[0].task.key


@pytest.mark.parametrize("key", sorted(scoring.FIRST_SETTINGS))
def test_every_setting_is_in_the_key(key):
    other = {"critic.method": "sarsa", "transport.estimator": "tail", "transport.cost": "sup"}
    other |= {"transport.regulariser": "quadratic", "transport.random_policy": "clipped_normal"}
    other |= {"transport.potentials": "non_positive", "transport.epsilon": 2.0}
    other |= {"critic.decay": False, "critic.hidden": [8]}
    first = scoring.FIRST_SETTINGS[key]
    halved = (type(first)(first / 2) or 2) if isinstance(first, int | float) else None
    changes = {key: other.get(key, halved if halved != first else 3)}
    if key == "critic.target_rate":
        changes["critic.method"] = "sarsa"
    assert one_key(changes=changes) != one_key()


def test_a_new_default_makes_a_new_key(monkeypatch):
    before = one_key()
    default = PRESETS["default"]
    shorter = replace(default, critic=replace(default.critic, steps=5_000))
    monkeypatch.setitem(settings.PRESETS, "default", shorter)
    assert one_key() != before
    assert one_key(changes={"critic.steps": 10_000}) == before  # the old numbers, asked for by name


@pytest.mark.parametrize("room", [critic, transport])
def test_a_new_revision_of_a_room_makes_a_new_key(monkeypatch, room):
    before = one_key()
    monkeypatch.setattr(room, "REVISION", room.REVISION + 1)
    assert one_key() != before


def test_a_new_revision_of_a_score_makes_a_new_key(monkeypatch):
    before = one_key(("q", "pd"))
    monkeypatch.setitem(SCORES, "q", replace(SCORES["q"], revision=7))
    assert one_key(("q", "pd")) != before and one_key(("pd",)) == one_key(("pd",))


def test_a_cost_named_by_hand_is_another_result():
    assert one_key(changes={"transport.cost": "paper"}) != one_key()


def test_a_setting_added_later_counts_once_it_changes_numbers():
    @dataclass(frozen=True)
    class Inner:
        steps: int = 10
        patience: int | None = added_later(None)

    @dataclass(frozen=True)
    class Outer:
        inner: Inner = field(default_factory=Inner)

    assert identifying(Outer()) == {"inner.steps": 10}
    assert identifying(Outer(Inner(patience=3))) == {"inner.steps": 10, "inner.patience": 3}


def test_the_first_settings_name_settings_that_exist():
    assert set(scoring.FIRST_SETTINGS) <= set(flatten(PRESETS["default"]))
