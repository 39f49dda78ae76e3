"""The terminal output at every width, without colour, and without Unicode."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from cards import make_card, make_comparison, three_cards
from rich.console import Console

from rlassay.report.series import sparkline
from rlassay.report.terminal import show_cards, show_comparison
from rlassay.results.card import Caution


def printed(show, result, width=100, encoding="utf-8", everything=False, **options):
    """What a console of some width and encoding receives."""
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding=encoding), width=width, **options)
    show(result, console, everything)
    console.file.flush()
    return raw.getvalue().decode(encoding)


def line_of(text, start):
    return next(line for line in text.splitlines() if line.startswith(start))


def test_the_short_card_is_five_scores_with_intervals_and_meanings():
    text = printed(show_cards, [make_card()])
    row = line_of(text, "return_top10").split()
    score = make_card()["return_top10"]
    assert row[:2] == ["return_top10", "↑"]
    assert [float(row[place].replace(",", "")) for place in (2, 3, 5)] == pytest.approx(
        [score.value, *score.interval], abs=0.6
    )
    assert "Best tenth" in line_of(text, "return_top10")
    names = [line.split()[0] for line in text.splitlines() if " ↑ " in line or " ↓ " in line]
    assert names[:5] == ["return", "return_top10", "q", "bwd", "bc_error"]
    assert "; more scores with --all" in text


def test_all_shows_every_score_in_groups_and_bwd_once():
    card = make_card()
    scores = {**card.scores, "bwd.exact": card["bwd"]}  # what `bwd` is, by the card's diagnosis
    text = printed(show_cards, [replace(card, scores=scores)], 80, everything=True)
    for name in make_card():
        assert line_of(text, f"{name} ")
    assert "Bellman-Wasserstein distance, exact" in line_of(text, "bwd ")
    assert "bwd.exact" not in text
    assert "--all" not in text
    assert text.index("What the data earned") < text.index("What its actions are worth")


@pytest.mark.parametrize("everything", [False, True])
def test_eighty_columns_cut_nothing_off(everything):
    """Large values, long names: every value, interval and name stands on one line of the table."""
    card = make_card()
    large = {
        name: replace(score, value=-12_345_678.9, interval=(-12_445_678.9, -12_245_678.9))
        for name, score in card.scores.items()
    }
    text = printed(show_cards, [replace(card, scores=large)], 80, everything=everything)
    assert "…" not in text
    for name in large if everything else ("return", "return_top10", "q", "bwd", "bc_error"):
        row = line_of(text, f"{name} ")
        assert "-12,345,679" in row
        assert "-12,445,679 to -12,245,679" in row


def verdict(**changes):
    forecast = {
        "value": 91.25,
        "interval": [80.5, 99.0],
        "unit": "normalised score",
        "own_scale": 0.64,
    }
    return {
        "label": "consistent",
        "cloning": forecast,
        "offline_rl": forecast | {"own_scale": None},
        "advice": {
            "action": "clone",
            "command": "rlassay train bc x.hdf5 --env Hopper-v5 -o bc",
            "reason": "agents agree",
        },
        "evidence": ["the actions agree", "one mode of returns"],
        "calibration": {"version": 1, "environments": ["Hopper-v5"], "nearest": "hopper-medium"},
        **changes,
    }


def test_the_verdict_comes_before_the_scores():
    text = printed(show_cards, [make_card(verdict=verdict())], 80)
    assert text.index("verdict consistent") < text.index("95 % interval")
    flat = " ".join(text.split())
    assert (
        "cloning: 91.25 (80 % interval 80.50 to 99.00, normalised score), above 64 % of its own episodes"
        in flat
    )
    assert "offline RL: 91.25 (80 % interval 80.50 to 99.00, normalised score)\n" in text
    assert "advice: clone: agents agree" in text
    assert "$ rlassay train bc x.hdf5 --env Hopper-v5 -o bc\n" in text
    assert "- one mode of returns" in text
    assert "Calibrated on Hopper-v5; nearest: hopper-medium" in text


def test_a_null_verdict_says_why_and_an_absent_one_nothing():
    why = Caution("no_verdict", "the data has no rewards", "")
    assert "no verdict: the data has no rewards" in printed(
        show_cards, [make_card(verdict=None, warnings=(why,))]
    )
    assert "verdict" not in printed(show_cards, [make_card()])


def test_verdicts_of_several_are_one_table():
    cards = [
        make_card("a.npz", verdict=verdict()),
        make_card("b.npz", verdict=verdict(label="weak")),
    ]
    text = printed(show_cards, cards, 80)
    assert line_of(text, "a.npz").split()[:3] == ["a.npz", "consistent", "clone"]
    assert line_of(text, "b.npz").split()[:2] == ["b.npz", "weak"]


def test_warnings_come_by_importance_and_five_at_most():
    codes = (
        "extras",
        "reference_note",
        "unheard_of",
        "critic_not_converged",
        "joined",
        "no_rewards",
        "left_out",
    )
    card = make_card(warnings=tuple(Caution(code, f"about {code}", "") for code in codes))
    told = [line for line in printed(show_cards, [card]).splitlines() if "warning" in line]
    assert [line.removeprefix("warning about ") for line in told[:5]] == [
        "no_rewards",
        "critic_not_converged",
        "unheard_of",
        "reference_note",
        "left_out",
    ]
    assert told[5] == "2 less important warnings with --all"
    assert "about joined" in printed(show_cards, [card], everything=True)


def test_returns_are_drawn_as_blocks_between_their_extremes():
    text = printed(show_cards, [make_card()])
    line = next(line for line in text.splitlines() if "█" in line)
    low, blocks, high = line.split()
    returns = make_card().series["episodes"]["return"]
    assert float(low) == pytest.approx(min(returns), rel=1e-3)
    assert float(high.replace(",", "")) == pytest.approx(max(returns), rel=1e-3)
    assert len(blocks) == 48


def test_warnings_and_failed_checks_come_with_remedies():
    text = printed(show_cards, [make_card()])
    assert "remedy: read return beside q" in text
    assert "WARN saturated actions" in text
    assert "check the action scaling" in text
    assert "2 of 3 checks passed" in text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width):
    comparison = make_comparison(three_cards())
    outputs = [
        printed(show_cards, [make_card()], width),
        printed(show_cards, three_cards(), width),
        printed(show_comparison, comparison, width),
    ]
    for text in outputs:
        assert max(len(line) for line in text.splitlines()) <= width
        assert "bwd" in text


def test_narrow_terminals_lose_no_number():
    for width in (120, 40, 20):
        text = printed(show_cards, [make_card()], width, everything=True)
        for score in make_card().values():
            value = f"{score.value:,.0f}" if abs(score.value) >= 1000 else f"{score.value:.3g}"
            assert value in text


def test_pipes_and_no_color_get_no_escape_codes(monkeypatch):
    assert "\x1b" not in printed(show_cards, [make_card()])
    monkeypatch.setenv("NO_COLOR", "1")
    colours = printed(show_cards, [make_card()], force_terminal=True)
    assert "\x1b[3" not in colours
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[33m" in printed(show_cards, [make_card()], force_terminal=True)


def test_the_label_of_the_verdict_is_what_stands_out(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    label = {"verdict": {"label": "expert-like", "reason": "because"}}
    card = replace(make_card(), **label)
    told = printed(show_cards, [card], force_terminal=True)
    line = next(line for line in told.splitlines() if "expert-like" in line)
    assert line.startswith("\x1b[2mverdict \x1b[0m\x1b[1;32mexpert-like\x1b[0m")
    assert "\x1b" not in line.split("expert-like\x1b[0m")[1]  # the reason is plain


def test_terminals_without_unicode_get_ascii():
    text = printed(show_cards, [make_card("données/hopper.npz")], encoding="ascii")
    assert "^ higher is better, v lower" in text


def test_markup_and_control_characters_in_names_stay_text():
    text = printed(show_cards, [make_card("[red]x[bold]\x1b[2J.npz")])
    assert "\x1b" not in text
    assert "[red]x[bold]" in text


def test_several_cards_share_one_table_and_one_copy_of_a_warning():
    text = printed(show_cards, three_cards())
    for name in ("hopper-random.hdf5", "hopper-medium.hdf5", "hopper-expert.hdf5"):
        assert name in text
    assert text.count("outlast the critic's horizon") + text.count("horizon 1/(1-discount)") == 1


def test_several_cards_keep_the_headline_scores_at_eighty_columns():
    text = printed(show_cards, three_cards(), 80)
    heads = [line.split()[1::2] for line in text.splitlines() if line.startswith("dataset")]
    assert [name for head in heads for name in head] == [
        "return",
        "return_top10",
        "q",
        "bwd",
        "bc_error",
    ]
    assert len(heads) == 2
    wide = printed(show_cards, three_cards(), 140)
    assert sum(line.startswith("dataset") for line in wide.splitlines()) == 1


def test_a_score_that_did_not_converge_is_marked_and_the_mark_explained():
    card = make_card()
    doubtful = replace(card, scores={**card.scores, "bwd": replace(card["bwd"], converged=False)})
    for cards in ([doubtful], [doubtful, card]):
        text = printed(show_cards, cards)
        assert "18.43 ?" in text
        assert "? the fit behind it has not converged" in text
    assert "?" not in printed(show_cards, [card])


def test_comparison_prints_ranks_and_ties():
    cards = [
        make_card("a.npz", 0.4, seed=1),
        make_card("b.npz", 0.4, seed=1),
        make_card("c.npz", 0.9, seed=2),
    ]
    text = printed(show_comparison, make_comparison(cards))
    assert "By bwd, c.npz ranks first of 3" in text
    assert line_of(text, "   2  a.npz").rstrip().endswith(" 3")
    assert line_of(text, "   1  c.npz").rstrip().endswith("–")
    assert "Not by bwd" not in text


def test_ties_of_long_names_leave_the_ranking_a_table_and_a_missing_distance_is_named():
    cards = [make_card(f"a-dataset-with-a-long-name-{n}.npz", 0.4, seed=1) for n in range(4)]
    text = printed(show_comparison, make_comparison(cards))
    assert line_of(text, "   4  a-dataset").rstrip().endswith("1, 2, 3")
    scores = {name: score for name, score in cards[0].scores.items() if name == "return"}
    mixed = [replace(cards[0], scores=scores), *cards[1:]]
    order = {"return": make_comparison(cards)["ranking"]["return"]}
    text = printed(show_comparison, {**make_comparison(mixed), "ranking": order})
    said = " ".join(text.split())
    assert "Not by bwd, which a-dataset-with-a-long-name-0.npz has not: see" in said


def test_a_card_without_series_checks_or_scores_prints():
    bare = make_card(series={}, inspection={}, scores={}, warnings=(Caution("a", "empty", ""),))
    text = printed(show_cards, [bare])
    assert "warning empty" in text
    assert "remedy" not in text


def test_sparkline_follows_the_values():
    assert sparkline(np.arange(8.0), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline(np.arange(16.0)[::-1], 8) == "█▇▆▅▄▃▂▁"
    assert len(sparkline(np.ones(3), 8)) == 3
