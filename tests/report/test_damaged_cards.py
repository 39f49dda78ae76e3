"""A seeded part of `scripts/fuzz_cards.py`: damaged cards are drawn or refused, and nothing in them runs."""

import json
import random
import sys
from pathlib import Path

import pytest
from cards import make_card

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from fuzz_cards import MARK, NASTY, case, damaged, originals, would_run

from rlassay.errors import DatasetError
from rlassay.report.saved import drawn_from, read_saved


def test_damaged_files_are_drawn_or_refused(tmp_path):
    known = originals()
    outcomes = {case(known, seed, tmp_path) for seed in range(16)}
    assert outcomes == {"reported", "refused"}


def test_the_same_seed_does_the_same_damage():
    one = originals()[0]
    texts = [damaged(one, random.Random(seed)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400])
def test_numbers_that_no_card_holds(tmp_path, number):
    card = json.loads(make_card().to_json())
    card["scores"]["bwd"]["value"] = number
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(DatasetError, match="damaged at `scores.bwd`"):
        read_saved([tmp_path / "card.json"])


def test_what_breaks_the_drawing_is_the_files_fault():
    with pytest.raises(DatasetError, match=r"a.json cannot be drawn.*KeyError"):
        with drawn_from([Path("a.json")]):
            raise KeyError("transitions")


@pytest.mark.parametrize("text", [text for text in NASTY if isinstance(text, str) and MARK in text])
def test_texts_that_want_to_run(tmp_path, text):
    """In every place of a card where a text stands."""
    card = make_card(name=text, episodes=5, command=text).to_dict()
    card["dataset"]["env_id"] = card["warnings"][0]["message"] = text
    for score in card["scores"].values():
        score.update(title=text, meaning=text, unit=text)
    for check in card["inspection"]["checks"]:
        check.update({key: text for key, value in check.items() if isinstance(value, str)})
    (tmp_path / "card.json").write_text(json.dumps(card))
    from rlassay.report.page import page_html

    page = page_html(read_saved([tmp_path / "card.json"])[0])
    assert MARK in page and would_run(page) == []


def test_the_check_itself_sees_what_runs():
    assert would_run(f"<p>{MARK}</p><script type='application/json'>{MARK}</script>") == []
    assert would_run(f"<script>{MARK}()</script>") == ["script"]
    assert would_run(f"<img src=x onerror={MARK}()>") == ["img onerror"]
    assert would_run(f"<a href='javascript:{MARK}()'>x</a>") == ["a href"]
