"""The page in a real browser, opened from disk as a user would."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from cards import make_card, make_comparison, three_cards

import rlassay
from rlassay import samples
from rlassay.report.page import page_html
from rlassay.results.card import Caution
from rlassay.scoring.compare import rank_cards

DATA_LIGHT, DATA_DARK = [0x1F, 0x5F, 0x99], [0x6D, 0xB0, 0xEC]
HOSTILE = "<script>alert(1)</script>"

# How many pixels of a chart's own drawing have a colour: proof of marks, not only of an element.
COUNT_PIXELS = """([selector, [red, green, blue]]) => [...document.querySelectorAll(selector)].map((canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    if (Math.abs(data[i] - red) < 4 && Math.abs(data[i + 1] - green) < 4 && Math.abs(data[i + 2] - blue) < 4) found++;
  return found;
})"""
# Count light pixels of the copies at the very end of the browser's own preparations for printing.
KEEP_PAPER = f"""() => addEventListener("beforeprint", () => {{
  window.printed = ({COUNT_PIXELS})(["canvas.paper", {DATA_LIGHT}]);
}})"""
COPY_CHARTS = """() => { for (const [element, { view }] of rlassay.figures) {
  const { canvas } = view.export("png", true); canvas.className = "probe"; element.append(canvas);
} }"""


def drawn_pixels(visit, color):
    visit.page.evaluate(COPY_CHARTS)
    return visit.page.evaluate(COUNT_PIXELS, ["canvas.probe", color])


@pytest.fixture(scope="module")
def one_page():
    return page_html([make_card()])


@pytest.fixture(scope="module")
def three_pages():
    cards = three_cards()
    return page_html(cards, make_comparison(cards))


@pytest.mark.parametrize("name", ["one_page", "three_pages"])
def test_loads_from_disk_without_error_or_network(visit, request, name):
    page = visit(request.getfixturevalue(name))
    assert page.complaints == []
    assert page.outside == []


def test_every_chart_has_marks(visit, one_page):
    page = visit(one_page)
    pixels = drawn_pixels(page, DATA_LIGHT)
    assert len(pixels) == page.page.locator("[data-chart]").count() == 7
    assert min(pixels) > 100


def test_charts_of_several_have_marks_and_closed_datasets_wait(visit, three_pages):
    page = visit(three_pages)
    assert len(drawn_pixels(page, DATA_LIGHT)) == 2
    page.page.click("#card1 > summary")
    page.page.wait_for_selector("#card1 [data-drawn] >> nth=6", state="attached")
    assert page.page.locator("#card0 [data-drawn]").count() == 0
    assert page.complaints == []


def test_charts_of_a_history_have_marks(visit):
    cards = [make_card("log.npz", quality, seed=seed) for seed, quality in enumerate((0.2, 0.9))]
    page = visit(page_html(cards))
    assert page.complaints == []
    pixels = drawn_pixels(page, DATA_LIGHT)
    assert len(pixels) == 7
    assert min(pixels) > 30


def test_table_sorts_by_value_both_ways(visit, three_pages):
    page = visit(three_pages).page
    names = page.locator("#side-by-side tbody tr th a")
    page.click("#side-by-side thead button:has-text('bwd ↑')")
    assert names.all_inner_texts()[0] == "hopper-random.hdf5"
    page.click("#side-by-side thead button:has-text('bwd ↑')")
    assert names.all_inner_texts() == [
        "hopper-expert.hdf5",
        "hopper-medium.hdf5",
        "hopper-random.hdf5",
    ]
    assert page.get_attribute("th:has(button:has-text('bwd ↑'))", "aria-sort") == "descending"


def test_filter_reaches_table_ranking_and_distributions(visit, three_pages):
    page = visit(three_pages).page
    page.fill("#filter", "expert")
    assert page.locator("#side-by-side tbody tr:visible").count() == 1
    assert page.inner_text("#filter-count") == "1 of 3 datasets"
    assert page.locator("#ranking-list li").count() == 1
    visible = "Object.values([...rlassay.figures.values()][1].figure.renderers).filter((r) => r.visible).length"
    assert page.evaluate(visible) == 3
    page.fill("#filter", "hopper-v5")
    assert page.locator("#side-by-side tbody tr:visible").count() == 3


def test_ranking_follows_the_chosen_score_and_says_ties(visit):
    cards = [
        make_card("a.npz", 0.4, seed=1),
        make_card("b.npz", 0.41, seed=2),
        make_card("c.npz", 0.9, seed=3),
    ]
    page = visit(page_html(cards, make_comparison(cards))).page
    assert page.inner_text("#ranking-list li >> nth=0").startswith("c.npz")
    page.select_option("#ranking-score", "pd")
    assert page.locator("#ranking-list .tie").count() == 3
    assert "lower is better" in page.evaluate(
        "[...rlassay.figures.values()][0].figure.below[0].axis_label"
    )


def test_ranking_begins_with_the_score_to_expect(visit):
    cards = [make_card("a.npz", 0.9, seed=1), make_card("b.npz", 0.4, seed=2)]
    forecasts = [
        {"value": value, "interval": [value - 9, value + 9], "unit": "normalised score"}
        for value in (40.0, 70.0)
    ]
    cards = [
        replace(card, verdict={"label": "weak", "cloning": each})
        for card, each in zip(cards, forecasts, strict=True)
    ]
    page = visit(page_html(cards, rank_cards(cards, force=True).to_dict())).page
    assert page.locator("#ranking-score").input_value() == "verdict"
    assert page.inner_text("#ranking-list li >> nth=0").startswith("b.npz 70")
    page.select_option("#ranking-score", "return")
    assert page.inner_text("#ranking-list li >> nth=0").startswith("a.npz")


def select_right_half(page):
    """Drag over the right half of the explorer's plot."""
    box = page.locator(".explorer .chart").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 45)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 350, steps=6)
    page.mouse.up()
    page.wait_for_selector(".explorer .command:visible")


def test_brushing_selects_counts_and_averages(visit, one_page):
    page = visit(one_page).page
    page.locator(".explorer").scroll_into_view_if_needed()
    select_right_half(page)
    low, high = (float(page.input_value(f"[data-bound='return-{end}']")) for end in ("from", "to"))
    bottom, top = (float(page.input_value(f"[data-bound='score-{end}']")) for end in ("from", "to"))
    rows = make_card().series["episodes"]
    returns, scores = np.array(rows["return"]), np.array(rows["bwd"])
    inside = (returns >= low) & (returns <= high) & (scores >= bottom) & (scores <= top)
    assert 10 < inside.sum() < 60
    assert page.inner_text("[data-part='count']") == str(inside.sum())
    shown = float(page.inner_text("[data-part='mean']").replace(",", ""))
    assert shown == pytest.approx(returns[inside].mean(), abs=0.6)


def test_filtering_by_keyboard_and_an_empty_selection(visit, one_page):
    page = visit(one_page).page
    page.focus("[data-bound='return-from']")
    page.keyboard.type("1500")
    expected = sum(value >= 1500 for value in make_card().series["episodes"]["return"])
    assert page.inner_text("[data-part='count']") == str(expected)
    page.keyboard.type("00")
    assert page.inner_text("[data-part='count']") == "0"
    assert "No episode" in page.inner_text("[data-part='command-note']")
    page.click("[data-part='clear']")
    assert page.inner_text("[data-part='count']") == "120"


def test_best_share_gives_the_exact_curate_command_and_copies_it(visit, one_page):
    page = visit(one_page, permissions=["clipboard-read", "clipboard-write"]).page
    page.click("[data-best='0.25']")
    command = page.inner_text("[data-part='command']")
    assert (
        command
        == "rlassay curate data/hopper-medium.hdf5 --keep 0.25 --by bwd -o hopper-medium-curated.hdf5"
    )
    note = page.inner_text("[data-part='command-note']")
    assert note.startswith("Keeps the best 30 by bwd, as selected here. The data are scored again")
    page.click(".explorer [data-copy]")
    page.wait_for_selector(".explorer button:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == command


def test_a_score_where_lower_is_better_keeps_its_low_end(visit):
    card = make_card()
    episodes = {
        **card.series["episodes"],
        "pd": [-value for value in card.series["episodes"]["bwd"]],
    }
    page = visit(page_html([make_card(series={"episodes": episodes})])).page
    page.select_option("[data-part='score']", "pd")
    page.click("[data-best='0.1']")
    assert page.input_value("[data-bound='score-from']") == ""
    assert "--keep 0.1 --by pd" in page.inner_text("[data-part='command']")
    assert "as selected here" in page.inner_text("[data-part='command-note']")


def test_a_selection_that_no_rule_describes_is_kept_by_its_list(visit, one_page):
    page = visit(one_page).page
    page.fill("[data-bound='return-to']", "900")
    assert page.inner_text("[data-part='command']") == (
        "rlassay curate data/hopper-medium.hdf5 --only hopper-medium-curated-episodes.csv -o hopper-medium-curated.hdf5"
    )
    assert "download the list" in page.inner_text("[data-part='command-note']")


def test_the_downloaded_list_and_the_copied_command_curate_the_selection(visit, tmp_path):
    data = rlassay.load(samples.paths()[1])
    rows = {
        "index": np.arange(data.episode_count),
        "start": data.episode_starts,
        "length": data.episode_lengths,
        "return": data.episode_returns,
        "bwd": -data.episode_returns,
        "sampled_from": data.episode_count,
    }
    page = visit(page_html([make_card(str(samples.paths()[1]), series={"episodes": rows})])).page
    middle = np.quantile(data.episode_returns, [0.3, 0.7])
    page.fill("[data-bound='return-from']", str(middle[0]))
    page.fill("[data-bound='return-to']", str(middle[1]))
    with page.expect_download() as waiting:
        page.click("[data-part='save']")
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    command = shlex.split(page.inner_text("[data-part='command']"))
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    curated = rlassay.load(tmp_path / command[command.index("-o") + 1])
    inside = (data.episode_returns >= middle[0]) & (data.episode_returns <= middle[1])
    np.testing.assert_allclose(curated.episode_returns, data.episode_returns[inside])


def test_of_a_sample_only_the_nearest_rule_is_offered(visit):
    page = visit(page_html([make_card(sampled_from=5000)])).page
    page.fill("[data-bound='return-to']", "900")
    assert "--only" not in page.inner_text("[data-part='command']")
    note = page.inner_text("[data-part='command-note']")
    assert "nearest rule" in note
    assert "exactly" not in note


def test_download_holds_the_selected_episodes(visit, one_page, tmp_path):
    page = visit(one_page).page
    page.click("[data-best='0.1']")
    with page.expect_download() as waiting:
        page.click("[data-part='save']")
    file = tmp_path / "list.csv"
    waiting.value.save_as(file)
    rows = list(csv.DictReader(file.open()))
    stored = make_card().series["episodes"]
    best = sorted(np.argsort(stored["bwd"])[-12:])
    assert waiting.value.suggested_filename == "hopper-medium-curated-episodes.csv"
    assert [int(row["episode"]) for row in rows] == [stored["index"][i] for i in best]
    assert [float(row["return"]) for row in rows] == pytest.approx(
        [stored["return"][i] for i in best]
    )


def test_list_of_episodes_sorts(visit, one_page):
    page = visit(one_page).page
    page.click(".episodes-table summary")
    page.click("[data-column='length']")
    lengths = [
        int(text.replace(",", ""))
        for text in page.locator("[data-part='rows'] td:nth-child(3)").all_inner_texts()
    ]
    assert lengths == sorted(make_card().series["episodes"]["length"], reverse=True)[:50]


def hostile_card(name):
    """A card in which everything that a dataset or a plug-in can name has the same hostile name."""
    check = {"name": name, "status": "fail", "message": name, "rows": [name], "remedy": name}
    rows = {**make_card().series["episodes"], name: make_card().series["episodes"]["bwd"]}
    return make_card(
        name,
        warnings=(Caution("odd", name, name),),
        inspection={"status": "fail", "checks": [check]},
        command=name,
        settings={name: name},
        scores={**make_card().scores, name: make_card()["bwd"]},
        series={**make_card().series, "episodes": rows},
    )


@pytest.mark.parametrize(
    "name", [HOSTILE, "</script><img src=x onerror=alert(1)>", '"><svg onload=alert(1)>']
)
def test_hostile_names_are_only_text(visit, name):
    page = visit(page_html([hostile_card(name)]))
    assert page.text("h1") == name
    page.page.select_option("[data-part='score']", name)
    page.page.click("[data-best='0.5']")
    page.page.hover(".explorer .chart")
    assert page.dialogs == []
    assert page.complaints == []  # a blocked script would complain: nothing even tried
    assert page.outside == []


def test_hostile_names_of_several_are_only_text(visit):
    cards = [hostile_card(HOSTILE), make_card("other.npz")]
    page = visit(page_html(cards, make_comparison(cards[:1]) | {"cards": []}))
    page.page.select_option("#ranking-score", HOSTILE)
    page.page.click("#card0 > summary")
    for chart in page.page.locator("#several .chart").all():
        chart.hover()
    assert HOSTILE in page.text("#ranking-list")
    assert page.dialogs == []
    assert page.complaints == []


def test_dark_mode_by_system_and_by_button(visit, one_page):
    page = visit(one_page, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.page.evaluate(background) == "rgb(18, 21, 26)"
    assert min(drawn_pixels(page, DATA_DARK)) > 100
    page.page.click("#theme")
    assert page.page.evaluate(background) == "rgb(250, 249, 246)"
    page.page.evaluate(
        "document.querySelectorAll('canvas.probe').forEach((canvas) => canvas.remove())"
    )
    assert min(drawn_pixels(page, DATA_LIGHT)) > 100


def test_print_is_light_complete_and_without_buttons(visit, one_page):
    page = visit(one_page, color_scheme="dark")
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.page.locator(".paper").count() == 0
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.page.emulate_media(media="print")
    page.page.wait_for_selector(".chart .paper >> nth=6")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert min(page.page.evaluate(COUNT_PIXELS, ["canvas.paper", DATA_LIGHT])) > 100
    assert not page.page.is_visible(".bar")
    assert not page.page.is_visible(".explorer .controls")
    assert page.page.is_visible("#card0-repeat code")


def test_printed_charts_have_light_colours(visit, one_page):
    """The browser's own printing, from a dark page."""
    page = visit(one_page, color_scheme="dark")
    page.page.evaluate(KEEP_PAPER)
    assert page.page.pdf(format="A4").startswith(b"%PDF")
    printed = page.page.evaluate("window.printed")
    assert len(printed) == 7
    assert min(printed) > 100


def test_fits_a_phone(visit, one_page, three_pages):
    for html in (one_page, three_pages):
        page = visit(html, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        assert page.page.evaluate("document.scrollingElement.scrollWidth") <= 390
        assert page.complaints == []


def test_meanings_are_read_without_pointing_and_sections_reached_by_keyboard(visit, one_page):
    page = visit(one_page).page
    assert page.locator("text=Sum of rewards of an episode, averaged").is_visible()
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "theme", "scroll"} <= reached


def test_side_by_side_is_read_on_a_phone_without_scrolling_sideways(visit, three_pages):
    page = visit(three_pages, viewport={"width": 390, "height": 844}, is_mobile=True).page
    width = page.evaluate("document.querySelector('#side-by-side').getBoundingClientRect().right")
    assert width <= 390
    row = page.locator("#side-by-side tbody tr").first
    assert row.locator("td[data-label='bc_error ↓']").is_visible()
    assert not row.locator("td[data-label='pd ↓']").is_visible()
    page.check("#all-scores")
    assert row.locator("td[data-label='pd ↓']").is_visible()


def test_tick_labels_do_not_meet(visit):
    """Returns of many digits on a narrow screen: labels times their number fit the axis."""
    card = make_card()
    rows = {
        **card.series["episodes"],
        "return": [123_456.0 + 2 * r for r in card.series["episodes"]["return"]],
    }
    options = {"viewport": {"width": 390, "height": 844}}
    page = visit(page_html([make_card(series={"episodes": rows})]), **options).page
    room, ticks, longest = (
        page.evaluate("""() => { const { figure, view } = [...rlassay.figures.values()][0];
      const axis = view.views.find_one(figure.below[0]); 
      return [view.frame.bbox.width, axis.tick_coords.major[0].length, Math.max(...figure.below[0].formatter.doFormat(axis.tick_coords.major[0], { loc: 0 }).map((label) => label.length))]; }""")
    )
    assert ticks >= 2
    assert ticks * longest * 6.7 < room


def test_a_page_of_one_prints_on_four_sheets(visit, one_page):
    printed = visit(one_page).page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4


def test_a_card_without_any_series_is_still_a_page(visit):
    bare = make_card(
        series={}, inspection={}, diagnosis={}, software={}, seconds={}, warnings=(), command=""
    )
    page = visit(page_html([bare]))
    assert page.complaints == []
    assert page.page.locator("[data-chart]").count() == 0
    assert page.page.is_visible("table.scores")


def test_hundred_thousand_episodes_stay_usable(visit):
    html = page_html([make_card(episodes=100_000)])
    assert len(html.encode()) <= 2_000_000
    page = visit(html)
    assert page.complaints == []
    assert "sample of 5,000 of 100,000 episodes" in page.text(".explorer > .intro")
    page.page.click("[data-best='0.1']")
    assert page.text("[data-part='count']") == "500"
    assert page.text("[data-part='of']") == "of 5,000 sampled episodes"
    assert "--keep 0.1 --by bwd" in page.text("[data-part='command']")
