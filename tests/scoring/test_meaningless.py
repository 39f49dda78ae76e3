"""Scores that would mean nothing are withheld or marked."""

from dataclasses import replace

import numpy as np
import pytest
from small import SMALL

import rlassay
from probes import walks, with_columns
from rlassay.critic.diagnosis import complete_by_half, warnings_of
from rlassay.scoring.registry import SCORES, resolve


def withheld(card):
    return " ".join(w.message for w in card.warnings if w.code == "score_unavailable")


def test_a_constant_reward_gives_no_values():
    data = walks(episodes=40, length=30)
    flat = with_columns(data, rewards=np.ones(len(data), np.float32))
    card = rlassay.score(flat, scores=["return", "q", "pd", "bwd"], settings=SMALL)
    assert list(card) == ["return"]
    assert "q, pd, bwd not given: every reward is 1" in withheld(card)
    assert card.verdict is not None and card.verdict["label"] == "not-rankable"


def test_a_handful_of_transitions_teaches_nothing():
    data = walks(episodes=4, length=10)
    card = rlassay.score(data, scores=["return", "q", "bc_error", "eas"], settings=SMALL)
    assert list(card) == ["return"] and "40 transitions are too few" in withheld(card)
    assert card.verdict is not None and card.verdict["label"] == "too-small"


def test_intervals_stay_within_what_is_possible(monkeypatch):
    """Three episodes, of which one has nearly all of the variance: the interval would reach below zero."""
    data = walks(episodes=3, length=40)
    names = ["bc_error", "rpsv"]
    card = rlassay.score(data, scores=names, settings=SMALL)
    assert all(score.interval is not None for score in card.values())
    assert card["rpsv"].interval[0] == 0 and card["bc_error"].interval[0] >= 0
    monkeypatch.setitem(SCORES, "rpsv", replace(SCORES["rpsv"], least=-np.inf))
    assert rlassay.score(data, scores=names, settings=SMALL)["rpsv"].interval[0] < 0


def test_a_retired_score_is_given_only_by_name():
    assert SCORES["extractable"].retired and "extractable" not in resolve(None)
    assert resolve(["extractable"]) == ["extractable"]


def unchecked(held, longest, discount=0.99):
    report = {"converged": None, "reason": "only 3 held-out episodes", "held_out_in_all": held}
    return next(w for w in warnings_of(report, longest, discount) if w.code == "critic_not_checked")


def test_the_remedy_of_an_unchecked_critic_helps():
    """100 episodes of 200 steps: more of them would be as incomplete."""
    cut = unchecked(20, 200)
    assert "score" not in cut.remedy and "--set critic.discount=0.95" in cut.remedy
    few = unchecked(3, 1_000)
    assert "score 40 episodes or more" in few.remedy and "discount" not in few.remedy
    both = unchecked(3, 200)
    assert "40 episodes" in both.remedy and "critic.discount=0.95" in both.remedy
    assert "pd" in cut.message


@pytest.mark.parametrize("longest", [10, 50, 200, 400])
def test_returns_are_complete_within_half_an_episode(longest):
    assert complete_by_half(longest) ** (longest / 2) <= 0.01


def test_a_lower_discount_lets_the_critic_be_checked():
    data = walks(episodes=60, length=60)
    cautious = {**SMALL, "critic.discount": 0.99}
    card = rlassay.score(data, scores=["q"], settings=cautious)
    (remedy,) = [w.remedy for w in card.warnings if w.code == "critic_not_checked"]
    discount = float(remedy.partition("critic.discount=")[2].partition(":")[0])
    again = rlassay.score(data, scores=["q"], settings={**SMALL, "critic.discount": discount})
    assert "critic_not_checked" not in {w.code for w in again.warnings}
