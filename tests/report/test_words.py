"""Numbers and sentences: readable, and claiming no more than the card."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cards import make_card, make_comparison, three_cards

from rlassay.report import words
from rlassay.results.card import Caution, in_reading_order


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.5678, "1,235"),
        (-17.2, "-17.2"),
        (0.08123, "0.08123"),
        (999.96, "1,000"),
        (12345678, "12,345,678"),
        (2e-5, "2.000e-05"),
        (3e12, "3.000e+12"),
        (-0.5, "-0.5"),
        (100, "100"),
    ],
)
def test_numbers_are_readable(value, text):
    assert words.number(value) == text


def test_summary_gives_value_interval_and_place():
    text = " ".join(words.summary(make_card()))
    score = make_card()["return"]
    value, span = words.value_and_interval(score)
    assert f"{value} (95 % interval {span})" in text
    assert f"{round(100 * score.relative)} % of the way" in text
    assert "120 episodes" in text


def test_summary_does_not_place_a_return_without_references():
    card = make_card()
    scores = {name: replace(score, relative=None) for name, score in card.scores.items()}
    text = " ".join(words.summary(replace(card, scores=scores)))
    assert "of the way" not in text
    assert "no reference returns" in text


def test_summary_never_grades_the_data():
    for card in three_cards():
        renamed = replace(card, dataset={**card.dataset, "source": "x.npz"})
        text = " ".join(words.summary(renamed)).lower()
        assert not any(
            claim in text for claim in ("expert", "medium", "good", "poor", "near random")
        )


def test_summary_names_what_did_not_converge():
    card = make_card()
    scores = {**card.scores, "q": replace(card["q"], converged=False)}
    assert "read with care: q." in " ".join(words.summary(replace(card, scores=scores)))


def test_summary_without_rewards_says_so():
    card = make_card(scores={"knn_entropy": make_card()["knn_entropy"]})
    assert "no returns" in " ".join(words.summary(card))


def test_one_episode_is_singular():
    card = make_card()
    card = replace(card, dataset={**card.dataset, "episodes": 1, "transitions": 1})
    assert "1 episode (1 transition)" in words.summary(card)[0]


def test_ties_are_said_as_ties():
    cards = [make_card("a.npz", 0.4, seed=1), make_card("b.npz", 0.4, seed=1)]
    order = make_comparison(cards)["ranking"]["bwd"]
    assert "tied with b.npz" in words.ranking_summary(order, "bwd", {}, cards)
    clear = make_comparison(three_cards())["ranking"]["bwd"]
    assert "ranks first of 3, with no tie" in words.ranking_summary(clear, "bwd", {}, cards)


def test_nobody_is_first_where_rewards_are_not_in_one_unit():
    cards = [make_card("a.npz"), make_card("b.npz")]
    order = make_comparison(cards)["ranking"]["bwd"]
    differ = Caution("rewards_differ", "the second are the first + 1", "bring them to one scale")
    told = words.ranking_summary(order, "bwd", {}, [cards[0], replace(cards[1], warnings=[differ])])
    assert "order means nothing" in told and "a.npz" not in told


def test_the_order_told_first_is_by_distance_then_by_return():
    assert words.leading_rank({"reward": [], "return": [], "bwd": []}) == "bwd"
    assert words.leading_rank({"reward": [], "return": []}) == "return"
    assert words.leading_rank({"reward": []}) == "reward" and words.leading_rank({}) is None


def test_names_are_short_where_that_is_enough():
    cards = [make_card("a/x.npz"), make_card("a/y.npz")]
    assert words.unique_names(cards) == ["x.npz", "y.npz"]
    assert words.unique_names([make_card("a/x.npz"), make_card("b/x.npz")]) == [
        "a/x.npz",
        "b/x.npz",
    ]
    assert words.unique_names([make_card("x"), make_card("x")]) == ["x (1)", "x (2)"]


def test_control_characters_do_not_reach_a_terminal():
    assert words.plain("a\x1b[31mb\u202ec") == "a\ufffd[31mb\ufffdc"


def test_scores_come_in_reading_order_and_unknown_ones_last():
    assert in_reading_order(["zeta", "bwd", "return"]) == ["return", "bwd", "zeta"]


def test_a_value_and_its_interval_have_equal_decimals():
    assert words.together(1234.5, (1201.2, 1260.0)) == ("1,234", "1,201 to 1,260")
    assert words.together(-3.5, (-3.81, -3.2)) == ("-3.50", "-3.81 to -3.20")
    assert words.together(0.0008, (-0.48687, 0.48838)) == ("0.0008", "-0.4869 to 0.4884")
    assert words.together(2.0, (1.0, 3.0)) == ("2", "1 to 3")
    assert words.together(5.0, None) == ("5", "–")
    assert words.together(3e12, (1e12, 5e12)) == ("3.000e+12", "1.000e+12 to 5.000e+12")
