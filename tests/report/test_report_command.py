"""`rlassay report`: saved scorecards to a page, and files that are refused in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cards import make_card, make_comparison, make_curation, three_cards

from rlassay.engine.files import write_json
from rlassay.errors import DatasetError
from rlassay.report.page import page_html
from rlassay.report.saved import read_saved
from rlassay.results.card import cards_to_dict, read_cards


def report(*arguments, cwd):
    command = [sys.executable, "-m", "rlassay", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_a_saved_card_renders_from_json_alone(tmp_path):
    write_json(tmp_path / "card.json", make_card().to_dict())
    ended = report("card.json", "-o", "page.html", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""
    rendered = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert rendered == page_html(read_cards(tmp_path / "card.json"))
    assert "hopper-medium.hdf5" in rendered


def test_unknown_schema_is_refused_in_one_sentence(tmp_path):
    card = make_card().to_dict() | {"schema": "rlassay.scorecard/2"}
    write_json(tmp_path / "card.json", card)
    ended = report("card.json", "-o", "page.html", cwd=tmp_path)
    assert ended.returncode == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "allowed: rlassay.scorecard/1; got: rlassay.scorecard/2" in ended.stderr
    assert not (tmp_path / "page.html").exists()


def test_several_files_and_files_of_several_join(tmp_path):
    write_json(tmp_path / "three.json", cards_to_dict(three_cards()))
    write_json(tmp_path / "one.json", make_card().to_dict())
    cards, comparison = read_saved([tmp_path / "three.json", tmp_path / "one.json"])
    assert len(cards) == 4
    assert comparison is None


def test_a_comparison_keeps_its_ranking(tmp_path):
    write_json(tmp_path / "comparison.json", make_comparison(three_cards()))
    cards, comparison = read_saved([tmp_path / "comparison.json"])
    assert len(cards) == 3
    assert comparison is not None
    assert comparison["ranking"]["bwd"][0]["rank"] == 1


def damaged(change):
    content = json.loads(make_card().to_json())
    change(content)
    return content


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.update(series=[]),
        lambda card: card["series"].update(episodes=[1, 2]),
        lambda card: card["series"]["calibration"].update(predicted=["a"]),
        lambda card: card["series"]["histograms"]["value"].update(edges=[None]),
        lambda card: card["series"].update(histograms=[1]),
        lambda card: card["scores"]["bwd"].update(value="big"),
        lambda card: card["scores"]["bwd"].update(direction="sideways"),
        lambda card: card["scores"]["bwd"].update(interval=[1]),
        lambda card: card["scores"]["bwd"].update(n="many"),
        lambda card: card["scores"]["bwd"].update(relative="half"),
        lambda card: card["inspection"].update(checks=3),
        lambda card: card.pop("warnings"),
        lambda card: card.update(dataset="x"),
        lambda card: card.update(verdict=[1]),
        lambda card: card.update(verdict={"label": "mixed", "cloning": {"value": "big"}}),
        lambda card: card.update(verdict={"label": "mixed", "advice": ["clone"]}),
    ],
)
def test_damaged_cards_are_refused_before_anything_is_drawn(tmp_path, change):
    write_json(tmp_path / "card.json", damaged(change))
    with pytest.raises(DatasetError, match="damaged.*; score the dataset again"):
        read_saved([tmp_path / "card.json"])


def test_a_damaged_ranking_is_refused(tmp_path):
    write_json(tmp_path / "c.json", make_comparison(three_cards()) | {"ranking": {"bwd": [{}]}})
    ended = report("c.json", cwd=tmp_path)
    assert ended.returncode == 2
    assert "damaged at `ranking`" in ended.stderr


def test_files_that_are_no_cards_are_refused(tmp_path):
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "list.json").write_text("[1]")
    for name in ("text.json", "list.json", "absent.json"):
        with pytest.raises(DatasetError, match="name a file written by `rlassay score --json`"):
            read_saved([tmp_path / name])


def test_reporting_does_not_import_jax(tmp_path):
    write_json(tmp_path / "card.json", make_card().to_dict())
    program = (
        "import sys\nfrom pathlib import Path\nfrom rlassay.report.saved import read_saved\n"
        "from rlassay.report.page import write_page\nimport rlassay.report.terminal, rlassay.report.figures\n"
        "write_page(read_saved([Path('card.json')])[0], 'page.html')\n"
        "sys.exit('jax' in sys.modules or 'matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path).returncode == 0


def test_a_folder_is_not_made_unasked(tmp_path):
    write_json(tmp_path / "card.json", make_card().to_dict())
    ended = report("card.json", "-o", "new folder/page.html", cwd=tmp_path)
    assert ended.returncode == 2
    assert not (tmp_path / "new folder").exists()
    remedy = ended.stderr.strip().rpartition("; ")[2]
    assert remedy == "mkdir -p 'new folder'"
    subprocess.run(remedy, shell=True, cwd=tmp_path, check=True)
    again = report("card.json", "-o", "new folder/page.html", cwd=tmp_path)
    assert again.returncode == 0
    assert again.stderr == "wrote new folder/page.html\n"


def test_every_result_says_its_file_and_needs_its_folder(tmp_path):
    """The rule stands in the options themselves, before anything is computed."""
    for option in ("--json", "--html", "--episodes"):
        command = [sys.executable, "-m", "rlassay", "score", "absent.hdf5", option, "no/x.csv"]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert ended.returncode == 2
        assert "there is no folder no; mkdir -p no" in ended.stderr


def test_a_curation_shows_before_and_after(tmp_path):
    write_json(tmp_path / "curation.json", make_curation())
    ended = report("curation.json", "-o", "page.html", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "page.html").read_text()
    assert "2 of 4 episodes stay, by the rule keep 0.5, by return." in page
    assert "The mean return goes from 10 to 15." in page
    assert '<td class="number good" data-label="Change">+5</td>' in page
    assert '<td class="number " data-label="Change">−0.05</td>' in page  # the intervals meet
    assert page.count("opacity:1.00") == 2 and page.count("opacity:0.12") == 2
    assert "<i>note" not in page and "<b>x.npz" not in page


def test_a_curation_is_rendered_alone_and_whole(tmp_path):
    write_json(tmp_path / "curation.json", make_curation())
    write_json(tmp_path / "card.json", make_card().to_dict())
    ended = report("curation.json", "card.json", cwd=tmp_path)
    assert ended.returncode == 2
    assert "render each curation alone" in ended.stderr
    write_json(tmp_path / "curation.json", make_curation() | {"after": {"scores": {"return": 3}}})
    assert "damaged at `after.scores`" in report("curation.json", cwd=tmp_path).stderr
