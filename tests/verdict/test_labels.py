"""The table of docs/verdict.md, row by row."""

import pytest

from rlassay.verdict.labels import Reached, action_of, label_of, regret, size_label


@pytest.mark.parametrize(
    ("cloning", "offline_rl", "several", "label"),
    [
        (2, 5, False, "near-random"),
        (2, 5, True, "near-random"),
        (30, 41, False, "mixed"),
        (90, 95, True, "mixed"),
        (85, 92, False, "expert-like"),
        (85, 74, False, "consistent"),  # agents do not agree: cloning is ahead
        (20, 25, False, "weak"),
        (50, 45, False, "consistent"),
    ],
)
def test_labels_by_outcome(cloning, offline_rl, several, label):
    reached = Reached(cloning, offline_rl, max(cloning, offline_rl))
    assert label_of(reached, several) == label


def test_size_comes_first():
    assert size_label(999, 50) == "too-small" and size_label(5_000, 9) == "too-small"
    assert size_label(1_000, 10) is None


@pytest.mark.parametrize(
    ("reached", "action", "lost"),
    [
        (Reached(50, 60, 70, 40), "offline-rl", 0),
        (Reached(50, 52, 60, 51), "clone", 2),
        (Reached(50, 60, 70, 90), "clone-best-part", 0),
        (Reached(50, 60, 70, None), "offline-rl", 0),
    ],
)
def test_advice_and_its_regret(reached, action, lost):
    assert action_of("consistent", reached) == action
    assert regret(action, reached) == lost


def test_nothing_to_train_on():
    assert action_of("too-small", None) == "collect-more"
    assert action_of("near-random", Reached(1, 1, 1)) == "collect-more"
