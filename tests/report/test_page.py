"""The page as text: size, escaping, colours, and cards that lack parts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
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
    gone = {
        "episodes": "episodes",
        "histograms": "distributions",
        "calibration": "calibration",
        "training": "line",
    }
    assert gone[part] not in kinds
    assert set(gone.values()) - {gone[part]} <= kinds


@pytest.mark.parametrize(
    "part", ["dataset", "settings", "scores", "diagnosis", "inspection", "software", "seconds"]
)
def test_any_other_part_may_be_empty(part):
    assert "<h1>" in page_html([make_card(**{part: {}})])
    assert "<h1>" in page_html([make_card(**{part: {}}), make_card()])


def test_histograms_without_random_or_of_wrong_length():
    edges, counts = [0, 1, 2], [3, 4]
    alone = make_card(series={"histograms": {"value": {"edges": edges, "data": counts}}})
    assert [series["name"] for series in charts.distribution_charts(alone)[0]["series"]] == ["data"]
    broken = make_card(series={"histograms": {"value": {"edges": edges, "data": [1, 2, 3]}}})
    assert charts.distribution_charts(broken) == []


def caption(card, kind):
    specs = [
        charts.returns_chart(card),
        *charts.distribution_charts(card),
        charts.calibration_chart(card),
        *charts.training_charts(card),
    ]
    return next(spec["caption"] for spec in specs if spec and spec["title"] == kind)


def test_captions_say_what_the_charts_show_here():
    card = make_card()
    low, high = np.quantile(card.series["episodes"]["return"], [0.25, 0.75])
    assert f"between {low:,.1f} and {high:,.0f};" in caption(card, "Episode returns")
    calibration = card.series["calibration"]
    bias = np.mean(np.subtract(calibration["predicted"], calibration["monte_carlo"]))
    assert f"is {-bias:.3g} too low on average" in caption(card, "Critic calibration")
    assert "the critic has settled" in caption(card, "Critic training")
    rising = make_card(series={"training": {"step": list(range(100)), "critic": list(range(100))}})
    assert "more steps may still move it" in caption(rising, "Critic training")


def test_the_caption_of_a_distribution_has_its_quantiles_and_overlap():
    even = {"edges": [0, 1, 2, 3, 4], "data": [1, 1, 1, 1], "random": [2, 2, 0, 0]}
    card = make_card(series={"histograms": {"value": even, "action": even}})
    text = caption(card, "Value of actions")
    assert "is worth 1 to 3; random" in text
    assert "median 1, and the two distributions overlap by 50 %" in text
    assert "50 % lie in the outermost two bins, of random actions 50 %" in caption(card, "Actions")


def test_densities_say_their_unit():
    even = {"edges": [0, 0.5, 1.0], "data": [1, 3]}
    spec = charts.distribution_chart(make_card(series={"histograms": {"value": even}}), "value")
    assert spec["y_label"] == "density (% of transitions per 0.5)"
    assert spec["series"][0]["shares"] == [25, 75]


def test_several_returns_are_told_by_their_middle_halves():
    spec = charts.overlaid_returns(three_cards(), ["a", "b", "c"])
    low, high = np.quantile(three_cards()[1].series["episodes"]["return"], [0.25, 0.75])
    assert f"{low:,.1f} to {high:,.0f} in b and" in spec["caption"]
    many = charts.overlaid_returns(three_cards() * 2, list("abcdef"))
    assert "The other 4 datasets" in many["caption"]
    assert all(sum(series["shares"]) == pytest.approx(100, abs=0.1) for series in spec["series"])


def test_shares_of_data_and_random_each_sum_to_a_hundred():
    for series in charts.distribution_chart(make_card(), "value")["series"]:
        assert sum(series["shares"]) == pytest.approx(100, abs=0.1)


def test_the_best_tenth_is_one_number_on_the_page():
    """Threshold and mean of the histogram are those of the score `return_top10`."""
    from rlassay.stats import top_mean

    card = make_card(episodes=42)
    returns = np.array(card.series["episodes"]["return"])
    best = float(top_mean(returns, np.ones(42)))
    spec = charts.returns_chart(make_card(episodes=42, scores={}))
    assert (
        np.sum(returns >= spec["threshold"] - 0.01) == 5
    )  # 4.2 episodes: the fifth counts in part
    assert f"returns {best:,.0f} on average" in spec["caption"]
    told = replace(card, scores={"return_top10": replace(card["return_top10"], value=1234.0)})
    assert "returns 1,234 on average" in charts.returns_chart(told)["caption"]
    assert "decile" not in page_html([card])


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
    assert (
        embedded(pooled)["charts"]["several-ranking"]["ranks"]["bwd"]["hopper-expert.hdf5"]["rank"]
        == 1
    )
    assert "ranks" not in embedded(single)["charts"]["several-ranking"]
    assert "ranks first of 3" in pooled
    assert "ties are not judged here" in single
    assert "ranks first" not in single


def test_view_shows_every_score_setting_check_and_fact():
    card = make_card()
    view = card_view(card, "x", "card0", 100)
    groups = {group["title"]: [row["name"] for row in group["rows"]] for group in view["groups"]}
    assert groups["The short answer"] == ["return", "return_top10", "q", "bwd", "bc_error"]
    assert {name for names in groups.values() for name in names} == set(card)
    assert ("target_rate", "0.005") in view["settings"]["critic"]
    assert ("preset", "default") in view["settings"]["general"]
    assert ("correlation", "0.94") in view["diagnosis"]["critic"]
    assert [check["status"] for check in view["checks"]] == ["pass", "pass", "warn"]
    assert ("Fingerprint", card.dataset["fingerprint"]) in view["facts"]
    assert view["command"] == card.command


def test_bwd_stands_in_one_row_that_names_its_estimator():
    card = make_card()
    twice = replace(card, scores={**card.scores, "bwd.exact": card["bwd"]})
    rows = [row for group in card_view(twice, "x", "k", 9)["groups"] for row in group["rows"]]
    assert [row["title"] for row in rows if row["value"] == "18.43"] == [
        "Bellman-Wasserstein distance (estimator exact)"
    ]
    other = replace(card, scores={**card.scores, "bwd.exact": replace(card["bwd"], value=1.0)})
    assert "bwd.exact" in page_html([other])  # another number is not hidden


def test_meanings_of_the_card_win_over_those_of_this_version():
    card = make_card()
    named = replace(card["bwd"], title="My distance", meaning="Mine <alone>.")
    page = page_html([replace(card, scores={**card.scores, "bwd": named})])
    assert "My distance" in page
    assert "Mine &lt;alone&gt;." in page
    assert "Sum of rewards of an episode" in page


VERDICT = {
    "label": "mixed",
    "cloning": {
        "value": 40.0,
        "interval": [30.0, 50.0],
        "unit": "normalised score",
        "own_scale": 0.3,
    },
    "advice": {
        "action": "offline-rl",
        "command": "rlassay train iql <x>",
        "reason": "more to gain",
    },
    "evidence": ["two <b>modes</b>"],
}


def test_the_verdict_is_first_escaped_and_absent_without_one():
    page = page_html([make_card(verdict=VERDICT)])
    assert page.index('class="verdict neutral"') < page.index('class="tiles"')
    assert "40 (80 % interval 30 to 50, normalised score), above 30 % of its own episodes" in page
    assert "rlassay train iql &lt;x&gt;" in page
    assert "two &lt;b&gt;modes&lt;/b&gt;" in page
    assert 'class="verdict' not in page_html([make_card()])
    why = Caution("no_verdict", "there are no rewards", "")
    assert "No verdict" in page_html([make_card(verdict=None, warnings=(why,))])
    assert "offline-rl" in page_html([make_card(verdict=VERDICT), make_card("b")])


def test_cards_of_one_source_are_a_history():
    cards = [
        make_card("log.npz", quality, seed=seed) for seed, quality in enumerate((0.2, 0.4, 0.9))
    ]
    specs = [
        spec for spec in embedded(page_html(cards))["charts"].values() if spec["kind"] == "history"
    ]
    assert [spec["title"] for spec in specs] == [
        "return ↑",
        "return_top10 ↑",
        "q ↑",
        "bwd ↑",
        "bc_error ↓",
    ]
    assert specs[0]["y"] == charts.rounded(card["return"].value for card in cards)
    assert specs[0]["low"] == charts.rounded(card["return"].interval[0] for card in cards)
    assert specs[0]["caption"].endswith(", better beyond the intervals.")
    assert specs[-1]["caption"].endswith("within what the intervals leave open.")
    others = [make_card("a.npz"), make_card("b.npz", 0.9)]
    assert "Over time" not in page_html(others)
    assert "Over time" in page_html(others, history=True)


def test_nested_settings_are_flattened():
    assert flattened({"a": {"b": True, "c": [1, 2]}, "d": None}) == [
        ("a.b", "yes"),
        ("a.c", "1, 2"),
        ("d", "–"),
    ]


def test_episode_columns_of_other_kinds_are_ignored():
    series = {
        "episodes": {"return": [1.0, 2.0], "bwd": [1.0], "names": ["a", "b"], "q": [0.0, 1.0]}
    }
    episodes = episodes_of(Scorecard(dataset={}, settings={}, scores={}, series=series))
    assert episodes.scores == ["q"]
    assert list(episodes.columns["index"]) == [0, 1]


def palette(theme):
    css = (files("rlassay.report") / "assets" / "page.css").read_text(encoding="utf-8")
    block = re.search(
        {"light": r":root \{(.*?)\}", "dark": r':root\[data-theme="dark"\] \{(.*?)\}'}[theme],
        css,
        re.S,
    )[1]
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
