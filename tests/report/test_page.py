"""The page as text: size, escaping, colours, and cards that lack parts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files

import numpy as np
import pytest
from cards import make_card, make_comparison, three_cards

from rlassay.errors import SettingsError
from rlassay.report import charts
from rlassay.report.content import card_view, curated_name, explorer_spec, flattened
from rlassay.report.page import MAX_BYTES, page_html, write_page
from rlassay.report.series import episodes_of
from rlassay.results.card import Caution, Scorecard

PARTS = ("episodes", "histograms", "calibration", "training")


def embedded(page):
    """The data that the page's script reads."""
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.S)[1])


def unpacked(column):
    kind, text = next(iter(column.items()))
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def test_one_file_within_two_megabytes(tmp_path):
    write_page([make_card(episodes=5000, sampled_from=100_000)], tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").stat().st_size <= 2_000_000


def test_card_writes_its_own_page(tmp_path):
    make_card().to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page_html([make_card()])


def test_page_names_no_address_it_could_load():
    page = re.sub(r"<script>.*?</script>", "", page_html(three_cards()), flags=re.S)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "default-src &#39;none&#39;" in page


def test_policy_allows_exactly_the_scripts_of_the_page():
    page = page_html([make_card()])
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = {
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts
    }
    policy = html.unescape(re.search(r'Content-Security-Policy" content="(.*?)"', page)[1])
    assert set(re.findall(r"'sha256-(.*?)'", policy)) == digests
    assert len(digests) == 4
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_names_are_escaped_in_markup_and_in_embedded_data():
    name = "<script>alert(1)</script>"
    page = page_html([make_card(name), make_card("other")])
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert name not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in outside
    raw = re.search(r'id="report-data">(.*?)</script>', page, re.S)[1]
    assert "<" not in raw
    assert "\\u003cscript>alert(1)" in raw
    assert embedded(page)["charts"]["several-ranking"]["names"][0] == name


def test_curate_command_quotes_the_path():
    spec = explorer_spec(make_card("my data/$(rm x).npz"), 100)
    assert spec["curate"] == "rlassay curate 'my data/$(rm x).npz'"
    assert spec["out"] == "'$(rm x)-curated.npz'"
    assert curated_name("D4RL/hopper/medium-v2") == "medium-v2-curated"


@pytest.mark.parametrize("part", PARTS)
def test_any_part_of_the_series_may_be_missing(part):
    series = {name: value for name, value in make_card().series.items() if name != part}
    page = page_html([make_card(series=series)])
    kinds = {spec["kind"] for spec in embedded(page)["charts"].values()}
    gone = {"episodes": "episodes", "histograms": "distributions", "calibration": "calibration", "training": "line"}  # fmt: skip
    assert gone[part] not in kinds
    assert set(gone.values()) - {gone[part]} <= kinds


@pytest.mark.parametrize("part", ["dataset", "settings", "scores", "diagnosis", "inspection", "software", "seconds"])  # fmt: skip
def test_any_other_part_may_be_empty(part):
    assert "<h1>" in page_html([make_card(**{part: {}})])
    assert "<h1>" in page_html([make_card(**{part: {}}), make_card()])


def test_histograms_without_random_or_of_wrong_length():
    edges, counts = [0, 1, 2], [3, 4]
    alone = make_card(series={"histograms": {"value": {"edges": edges, "data": counts}}})
    assert [series["name"] for series in charts.distribution_charts(alone)[0]["series"]] == ["data"]
    broken = make_card(series={"histograms": {"value": {"edges": edges, "data": [1, 2, 3]}}})
    assert charts.distribution_charts(broken) == []


def test_shares_of_data_and_random_each_sum_to_a_hundred():
    for series in charts.distribution_chart(make_card(), "value")["series"]:
        assert sum(series["shares"]) == pytest.approx(100, abs=0.1)


def test_top_decile_holds_a_tenth_of_the_episodes():
    card = make_card(episodes=200)
    threshold = charts.returns_chart(card)["threshold"]
    assert np.mean(np.array(card.series["episodes"]["return"]) >= threshold) == pytest.approx(0.1)


def test_returns_are_counted_of_all_episodes_even_where_the_table_is_a_sample():
    card = make_card(series={"episodes": make_card().series["episodes"]})
    assert sum(charts.returns_chart(card)["counts"]) == 120
    sampled = charts.returns_chart(make_card(sampled_from=9000))
    assert sum(sampled["counts"]) == pytest.approx(9000, abs=20)
    assert len(sampled["counts"]) == 40
    assert "sample of 120 of 9,000" in sampled["caption"]


def test_a_fresh_card_with_arrays_gives_the_page_of_its_json():
    card = make_card()
    series = {name: dict(part) for name, part in card.series.items()}
    for part in ("episodes", "calibration", "training"):
        series[part] = {
            name: np.asarray(values) if isinstance(values, list) else values
            for name, values in series[part].items()
        }
    assert page_html([make_card(fresh=True, series=series)]) == page_html([card])


def test_columns_survive_packing():
    whole = np.array([0, 16_777_217, 2_000_000_000])
    assert list(unpacked(charts.packed(whole))) == list(whole)
    assert list(unpacked(charts.packed(np.array([0.5, -1.25])))) == [0.5, -1.25]


def test_long_training_curves_are_thinned_but_keep_their_range():
    steps = list(range(5000))
    card = make_card(
        series={"training": {"step": steps, "critic": [1.0] * 5000, "dual": [1.0, 2.0]}}
    )
    (spec,) = charts.training_charts(card)
    assert len(spec["x"]) <= 400
    assert spec["x"][-1] > 4900


def test_noise_of_a_settled_curve_does_not_fill_the_chart():
    card = make_card(series={"training": {"step": [1, 2, 3], "critic": [100.0, 100.5, 100.0]}})
    low, high = charts.training_charts(card)[0]["y_range"]
    assert high - low == pytest.approx(10.05)
    assert low < 100 < 100.5 < high


def test_backticks_become_code_and_stay_escaped():
    warning = Caution("a", "read `re<b>lative` beside it", "use `--x`")
    page = page_html([make_card(warnings=(warning,))])
    assert "read <code>re&lt;b&gt;lative</code> beside it" in page
    assert "<code>--x</code>" in page


def test_a_sample_is_drawn_where_there_are_too_many_episodes_and_said():
    card = make_card(episodes=100_000)
    page = page_html([card])
    spec = next(spec for spec in embedded(page)["charts"].values() if spec["kind"] == "episodes")
    indices = unpacked(spec["columns"]["index"])
    assert len(indices) == 5000
    assert spec["sampled"]
    assert "A seeded sample of 5,000 of 100,000 episodes" in page
    returns = dict(
        zip(card.series["episodes"]["index"], card.series["episodes"]["return"], strict=True)
    )
    assert unpacked(spec["columns"]["return"])[7] == np.float32(returns[int(indices[7])])


def test_many_datasets_share_the_room_or_are_left_to_the_table():
    cards = [make_card(f"set-{place}.npz", seed=place, episodes=400) for place in range(40)]
    page = page_html(cards)
    assert len(page.encode()) <= MAX_BYTES
    assert all(f"set-{place}.npz" in page for place in range(40))
    detailed = page.count('<details class="dataset"')
    assert 0 < detailed < 40
    assert f"The last {40 - detailed} datasets stand in the table only" in page


def test_no_card_is_refused():
    with pytest.raises(SettingsError, match="at least one scorecard"):
        page_html([])


def test_ranks_and_ties_only_where_a_comparison_says_so():
    cards = three_cards()
    pooled = page_html(cards, make_comparison(cards))
    single = page_html(cards)
    assert embedded(pooled)["charts"]["several-ranking"]["ranks"]["bwd"]["hopper-expert.hdf5"]["rank"] == 1  # fmt: skip
    assert "ranks" not in embedded(single)["charts"]["several-ranking"]
    assert "ranks first of 3" in pooled
    assert "ties are not judged here" in single
    assert "ranks first" not in single


def test_view_shows_every_score_setting_check_and_fact():
    card = make_card()
    view = card_view(card, "x", "card0", 100)
    assert {row["name"] for row in view["scores"]} == set(card)
    assert ("target_rate", "0.005") in view["settings"]["critic"]
    assert ("preset", "default") in view["settings"]["general"]
    assert ("correlation", "0.94") in view["diagnosis"]["critic"]
    assert [check["status"] for check in view["checks"]] == ["pass", "pass", "warn"]
    assert ("Fingerprint", card.dataset["fingerprint"]) in view["facts"]
    assert view["command"] == card.command


def test_nested_settings_are_flattened():
    assert flattened({"a": {"b": True, "c": [1, 2]}, "d": None}) == [("a.b", "yes"), ("a.c", "1, 2"), ("d", "–")]  # fmt: skip


def test_episode_columns_of_other_kinds_are_ignored():
    series = {
        "episodes": {"return": [1.0, 2.0], "bwd": [1.0], "names": ["a", "b"], "q": [0.0, 1.0]}
    }
    episodes = episodes_of(Scorecard(dataset={}, settings={}, scores={}, series=series))
    assert episodes.scores == ["q"]
    assert list(episodes.columns["index"]) == [0, 1]


def palette(theme):
    css = (files("rlassay.report") / "assets" / "page.css").read_text(encoding="utf-8")
    block = re.search({"light": r":root \{(.*?)\}", "dark": r':root\[data-theme="dark"\] \{(.*?)\}'}[theme], css, re.S)[1]  # fmt: skip
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_have_the_contrast_of_wcag_aa(theme):
    colors = palette(theme)
    for text in ("ink", "muted", "accent", "good", "warn", "bad"):
        assert min(contrast(colors[text], colors[ground]) for ground in ("paper", "surface")) >= 4.5
    for tone in ("good", "warn", "bad"):
        assert contrast(colors[tone], colors[f"{tone}-soft"]) >= 4.5
    marks = ["data", "random", "gold", *[f"series-{place}" for place in range(1, 9)]]
    assert min(contrast(colors[mark], colors["surface"]) for mark in marks) >= 3
