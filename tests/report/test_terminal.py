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


def printed(show, result, width=100, encoding="utf-8", **options):
    """What a console of some width and encoding receives."""
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding=encoding), width=width, **options)
    show(result, console)
    console.file.flush()
    return raw.getvalue().decode(encoding)


def test_one_card_shows_value_interval_direction_meaning():
    text = printed(show_cards, [make_card()])
    row = next(line for line in text.splitlines() if line.startswith("pd"))
    assert row.split() == ["pd", "↓", "lower", "-17.2", "-19.4", "to", "-15", "–", "Performance", "difference"]  # fmt: skip
    assert "38 %" in next(line for line in text.splitlines() if line.startswith("return "))


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
    wide, narrow = (printed(show_cards, [make_card()], width) for width in (120, 40))
    for score in make_card().values():
        value = f"{score.value:,.0f}" if abs(score.value) >= 1000 else f"{score.value:.4g}"
        assert value in wide
        assert value in narrow


def test_pipes_and_no_color_get_no_escape_codes(monkeypatch):
    assert "\x1b" not in printed(show_cards, [make_card()])
    monkeypatch.setenv("NO_COLOR", "1")
    colours = printed(show_cards, [make_card()], force_terminal=True)
    assert "\x1b[3" not in colours
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[33m" in printed(show_cards, [make_card()], force_terminal=True)


def test_terminals_without_unicode_get_ascii():
    text = printed(show_cards, [make_card("données/hopper.npz")], encoding="ascii")
    assert "^ higher" in text
    assert "v lower" in text


def test_markup_and_control_characters_in_names_stay_text():
    text = printed(show_cards, [make_card("[red]x[bold]\x1b[2J.npz")])
    assert "\x1b" not in text
    assert "[red]x[bold]" in text


def test_several_cards_share_one_table_and_one_copy_of_a_warning():
    text = printed(show_cards, three_cards())
    for name in ("hopper-random.hdf5", "hopper-medium.hdf5", "hopper-expert.hdf5"):
        assert name in text
    assert text.count("outlast the critic's horizon") + text.count("horizon 1/(1-discount)") == 1


def test_eighty_columns_keep_a_table_of_the_most_telling_scores():
    text = printed(show_cards, three_cards(), 80)
    heading = next(line for line in text.splitlines() if line.startswith("dataset"))
    assert heading.split() == ["dataset", "return", "↑", "q", "↑", "bwd", "↑"]
    assert "return_top10" in printed(show_cards, three_cards(), 120)


def test_a_score_that_did_not_converge_is_marked():
    card = make_card()
    doubtful = replace(card, scores={**card.scores, "bwd": replace(card["bwd"], converged=False)})
    assert "18.43 ?" in printed(show_cards, [doubtful])
    assert "not converged" in printed(show_cards, [doubtful], 40)
    assert "18.43 ?" not in printed(show_cards, [card])


def test_comparison_prints_ranks_and_ties():
    cards = [make_card("a.npz", 0.4, seed=1), make_card("b.npz", 0.4, seed=1), make_card("c.npz", 0.9, seed=2)]  # fmt: skip
    text = printed(show_comparison, make_comparison(cards))
    assert "By bwd, c.npz ranks first of 3" in text
    assert "tied with a.npz" in text


def test_a_card_without_series_checks_or_scores_prints():
    bare = make_card(series={}, inspection={}, scores={}, warnings=(Caution("a", "empty", ""),))
    text = printed(show_cards, [bare])
    assert "warning empty" in text
    assert "remedy" not in text


def test_sparkline_follows_the_values():
    assert sparkline(np.arange(8.0), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline(np.arange(16.0)[::-1], 8) == "█▇▆▅▄▃▂▁"
    assert len(sparkline(np.ones(3), 8)) == 3
