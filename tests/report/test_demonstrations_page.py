"""Data without rewards on the card, the terminal and the page, there in a real browser."""

from __future__ import annotations

import io
import json
import shlex

import numpy as np
import pytest
from rich.console import Console
from test_page_in_browser import DATA_LIGHT, drawn_pixels

import rlassay
from rlassay.report.demonstrations import demonstrations_view
from rlassay.report.page import MAX_BYTES, page_html
from rlassay.report.terminal import show_cards
from rlassay.results.card import Scorecard

COUNT, LENGTH, SHAKEN, WAITING = 14, 80, 3, 5


def reaches(count=COUNT, length=LENGTH, joints=3):
    """Slow waves that the actions lead; one episode has shaken actions, one waits for 20 frames."""
    rng = np.random.default_rng(0)
    moment = np.arange(length + 1)[:, None] / 12 + 0.1 * rng.normal(size=(count, 1, joints))
    waves = np.sin(moment + np.arange(joints)) + 0.002 * rng.normal(size=moment.shape)
    waves[WAITING, 20:40] = waves[WAITING, 20:21]
    states, actions = waves[:, :-1].copy(), waves[:, 1:].copy()
    actions[SHAKEN] += 0.5 * rng.normal(size=actions[SHAKEN].shape)
    ends = np.arange(count * length) % length == length - 1
    return {
        "observations": states.reshape(-1, joints),
        "actions": actions.reshape(-1, joints),
        "terminals": np.zeros(count * length, bool),
        "timeouts": ends,
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "reaches.npz"
    success = np.arange(COUNT) != SHAKEN
    np.savez(path, **reaches(), success=np.repeat(success, LENGTH))
    return path


@pytest.fixture(scope="module")
def card(file):
    return rlassay.score(file, scores=["knn_entropy"])


@pytest.fixture(scope="module")
def page(card):
    return page_html([card])


def test_the_card_names_the_episode_and_keeps_it_as_json(card):
    told = card.demonstrations
    assert told["schema"] == "rlassay.demonstrations/1"
    assert told["watch"][0]["episode"] == SHAKEN
    again = Scorecard.from_dict(json.loads(card.to_json()))
    assert again.demonstrations == told


def test_marks_beside_the_columns_count(card):
    """`success` is no column of the schema; the score of data without rewards reads it all the same."""
    found = {one["code"]: one["message"] for one in card.demonstrations["findings"]}
    assert found["success"] == f"13 of 14 episodes are marked as a success; not: {SHAKEN}"


def test_a_card_with_rewards_has_no_such_part():
    columns = reaches() | {"rewards": np.arange(COUNT * LENGTH) % 7}
    card = rlassay.score(columns, scores=["return"])
    assert card.demonstrations == {} and "demonstrations" not in card.to_dict()


def test_the_terminal_leads_on(card, file):
    console = Console(file=io.StringIO(), width=120)
    show_cards([card], console)
    shown = console.file.getvalue()
    assert f"episode {SHAKEN}: " in shown and "LOOK 13 of 14 episodes" in shown
    assert f"$ rlassay train bc {file} -o runs/reaches-bc" in shown
    assert f"$ rlassay curate {file} --keep 0.9 --dry-run" in shown


def test_the_printed_commands_work(card):
    from typer.testing import CliRunner

    from rlassay.cli import app

    for step in card.demonstrations["next"]:
        quicker = ["--preset", "fast", "--scores", "saco"] if "--dry-run" in step["command"] else []
        done = CliRunner().invoke(app, [*shlex.split(step["command"])[1:], *quicker])
        assert done.exit_code == 0, done.output


def test_data_in_memory_have_no_commands():
    assert rlassay.score(reaches(), scores=["knn_entropy"]).demonstrations["next"] == []


# -- in the browser ----------------------------------------------------------------------------------------------------


def test_the_page_draws_without_complaint(visit, page):
    opened = visit(page)
    assert opened.complaints == [] and opened.outside == []
    pixels = drawn_pixels(opened, DATA_LIGHT)
    assert len(pixels) == 3 and min(pixels) > 50  # timeline, learning curve, actions


def test_an_episode_worth_watching_opens_by_its_button(visit, page):
    opened = visit(page)
    first = opened.text(".timeline [data-part='told']")
    assert first.startswith(f"Episode {SHAKEN}: 80 frames")
    opened.page.select_option(".timeline select", str(WAITING))
    assert "idle once" in opened.text(".timeline [data-part='told']")
    opened.page.click(f".watch [data-episode='{SHAKEN}']")
    assert opened.text(".timeline [data-part='told']") == first
    assert opened.complaints == []


def test_another_episode_draws_other_lines(visit, page):
    opened = visit(page)
    drawn = "() => rlassay.figures.get(document.querySelector('.timeline .chart')).panels[1].source.data.line0"
    before = opened.page.evaluate(drawn)
    opened.page.select_option(".timeline select", str(WAITING))
    after = opened.page.evaluate(drawn)
    assert len(before) == LENGTH and before != after
    waiting = np.array(after)[21:39]  # in deviations, but still
    assert np.ptp(waiting) == 0


def test_episodes_can_be_sorted_by_a_score(visit, page):
    opened = visit(page)
    opened.page.click("#card0-findings details summary")
    heading = opened.page.locator("#card0-findings details table").first.locator("thead button")
    names = heading.all_inner_texts()
    place = next(k for k, name in enumerate(names) if name.startswith("tremor"))
    heading.nth(place).click()
    heading.nth(place).click()
    top = opened.page.locator("#card0-findings details table").first.locator("tbody th").first
    assert top.inner_text() == str(SHAKEN)


def test_a_page_of_many_episodes_and_joints_keeps_its_size():
    card = rlassay.score(reaches(count=300, length=12, joints=150), scores=["saco"])
    html = page_html([card, card])
    assert len(html.encode()) <= MAX_BYTES
    view = demonstrations_view(card.demonstrations, "card0")
    assert "of 300 episodes can be chosen" in view["charts"]["card0-timeline"]["caption"]
    assert view["episodes"]["left_out"] == 180


def test_a_card_of_a_later_version_without_timelines_is_drawn(card, visit):
    told = {k: v for k, v in card.to_dict()["demonstrations"].items() if k != "timelines"}
    told |= {"learning_curve": None, "next": [], "open": {}}
    again = Scorecard.from_dict(card.to_dict() | {"demonstrations": told})
    assert visit(page_html([again])).complaints == []
