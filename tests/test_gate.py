"""Conditions of --fail-if: what they say, and what they refuse."""

import pytest

from rlassay.errors import SettingsError
from rlassay.gate import broken, parse_conditions

FACTS = {"return": 950.0, "bwd": -3.5, "verdict": "near-random", "tq": None, "episodes": 12.0}


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("return < 1000", True),
        ("return<1,000", True),
        ("return > 950", False),
        ("return >= 950", True),
        ("return != 950", False),
        ("bwd <= -3.5", True),
        ("verdict == near-random", True),
        ("verdict == 'near-random'", True),
        ("verdict != near-random", False),
        ("episodes == 12", True),
    ],
)
def test_a_condition_is_compared(text, hit):
    assert bool(broken(parse_conditions([text]), FACTS)) is hit


def test_what_is_said_names_condition_and_value():
    assert broken(parse_conditions(["return < 1000"]), FACTS) == ["return < 1000: return is 950"]


def test_a_withheld_value_fails_and_says_so():
    assert broken(parse_conditions(["tq < 0.5"]), FACTS) == [
        "tq < 0.5: tq is not given for this data"
    ]


@pytest.mark.parametrize(
    "text", ["return", "return <", "< 3", "return = 3", "__import__('os') < 1"]
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(SettingsError, match="NAME OP VALUE"):
        parse_conditions([text])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("retrun < 3", "did you mean return"),
        ("verdict < near-random", "not a number"),
        ("verdict == 3", "verdict is a word"),
        ("return == good", "return is a number"),
    ],
)
def test_mistakes_are_one_sentence(text, said):
    with pytest.raises(SettingsError, match=said):
        broken(parse_conditions([text]), FACTS)
