"""Rules learnt from a good dataset: what they accept, what they find, and their file."""

import numpy as np
import pytest

from probes import walks
from rlassay.errors import DatasetError
from rlassay.inspection.rules import HELD, hold, learn, read_rules, to_toml

GOOD = walks(episodes=20, length=30, dims=(3, 2))


def changed(**columns):
    from rlassay.data.dataset import Dataset

    names = ("observations", "actions", "rewards", "terminals", "timeouts", "next_observations")
    whole = {name: getattr(GOOD, name).copy() for name in names} | columns
    return Dataset.from_columns(**whole, episode_starts=GOOD.episode_starts, origin=GOOD.origin)


def failed(data, rules):
    return [check.name for check in hold(rules, data) if check.status == "fail"]


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(to_toml(learn(GOOD)))
    return read_rules(path)


def test_the_dataset_itself_passes_every_rule(rules):
    checks = hold(rules, GOOD)
    assert {check.name for check in checks} == {f"rules.{name}" for name in HELD}
    assert {check.status for check in checks} == {"pass"}


def test_every_rule_can_break(rules):
    span = GOOD.observations.max() - GOOD.observations.min()
    assert failed(changed(observations=GOOD.observations + 3 * span), rules) == [
        "rules.observations"
    ]
    assert failed(changed(actions=GOOD.actions * 5), rules) == ["rules.actions"]
    assert "rules.rewards" in failed(changed(rewards=GOOD.rewards + 100), rules)
    assert "rules.returns" in failed(changed(rewards=GOOD.rewards - 100), rules)
    ends = np.zeros(len(GOOD), bool)
    ends[GOOD.episode_stops - 1] = ~GOOD.terminals[GOOD.episode_stops - 1]
    others = {"terminals": ends, "timeouts": np.zeros(len(GOOD), bool)}
    assert failed(changed(**others), rules) == ["rules.ends"]
    short = walks(episodes=20, length=10, dims=(3, 2))
    assert "rules.lengths" in failed(short, rules)
    assert "rules.dimensions" in failed(walks(episodes=20, length=30, dims=(4, 2)), rules)


def test_a_deleted_section_is_not_asked(rules):
    del rules["actions"]
    assert failed(changed(actions=GOOD.actions * 5), rules) == []


def test_names_of_sources_survive_the_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(to_toml(learn(GOOD) | {"learnt_from": 'a "b" \\ c\n[d]'}))
    assert read_rules(path)["learnt_from"] == 'a "b" \\ c\n[d]'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 3", "holds no rules"),
        ("= 3", "is no TOML"),
        ('schema = "rlassay.rules/1"\n[moods]\nlow = 1', "unknown sections"),
    ],
)
def test_other_files_are_refused(text, said, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=said):
        read_rules(path)


def test_a_section_without_its_numbers_is_one_sentence(rules):
    rules["lengths"] = {"low": 3}
    with pytest.raises(DatasetError, match=r"section \[lengths\]"):
        hold(rules, GOOD)
