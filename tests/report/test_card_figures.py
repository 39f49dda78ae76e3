"""Figures for papers: every kind, saved as PNG and SVG, labelled, and refused in one sentence."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from cards import make_card

from rlassay.errors import DatasetError, SettingsError
from rlassay.report.figures import FIGURES


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_titles_and_labelled_axes(figure):
    drawn = make_card().plot(figure)
    visible = [axis for axis in drawn.axes if axis.get_visible()]
    assert visible
    for axis in visible:
        assert axis.get_xlabel()
        assert axis.get_title(loc="left")
        assert axis.has_data()
    assert drawn.legends or all(axis.get_ylabel() and axis.get_legend() for axis in visible)


def test_saved_as_png_and_svg(tmp_path):
    make_card().plot("returns", tmp_path / "a.png")
    make_card().plot("returns", tmp_path / "a.svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    text = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    assert "return of an episode (sum of rewards)" in text


def test_equal_cards_give_equal_files(tmp_path):
    for name in ("a.svg", "b.svg"):
        make_card().plot("scores", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_scores_show_value_seeds_and_interval():
    card = make_card()
    drawn = card.plot("scores")
    panel = next(axis for axis in drawn.axes if axis.get_title(loc="left").startswith("pd"))
    span, seeds, value = (line.get_xdata() for line in panel.lines)
    assert tuple(span) == card["pd"].interval
    assert tuple(seeds) == card["pd"].per_seed
    assert list(value) == [card["pd"].value]


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="unknown figure; allowed: scores, returns"):
        make_card().plot("pie")
    with pytest.raises(SettingsError, match=".png, .svg; got: a.pdf"):
        make_card().plot("scores", tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_whose_numbers_are_missing_is_refused(figure):
    with pytest.raises(DatasetError, match=r"hopper-medium.hdf5 holds no .*; score the dataset"):
        make_card(series={}, scores={}).plot(figure)


def test_missing_matplotlib_is_one_sentence_with_the_remedy():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from rlassay.results.card import Scorecard, Score\n"
        "card = Scorecard({}, {}, {'q': Score(1.0, None, (1.0,), 'higher', 'value', 1)})\n"
        "card.plot('scores')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'rl-assay[plot]'" in ended.stderr.splitlines()[-1]
