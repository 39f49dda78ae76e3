"""Correlations of a study on tables with known answers."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rlassay.study.analysis.correlate import (
    POOLED,
    choice_rows,
    choose,
    correlation_rows,
    leave_one_out,
    make_points,
    min_max,
    oracle_table,
)
from rlassay.study.analysis.tables import correlation_tables
from rlassay.study.printed import printed_points

AGENTS = ("bc", "iql")
ENVIRONMENTS = ("A-v5", "B-v5")
DATASETS = ("d0", "d1", "d2", "d3", "d4")


def tables(noise=0.0, seed=0):
    """`good` is the oracle up to scale, `return` is the oracle with noise, `bad` runs against it."""
    rng = np.random.default_rng(seed)
    runs, scores = [], []
    for environment in ENVIRONMENTS:
        for index, dataset in enumerate(DATASETS):
            for agent, shift in (("bc", -5.0), ("iql", 5.0)):
                runs.append(
                    {
                        "environment": environment,
                        "dataset": dataset,
                        "agent": agent,
                        "score": 20.0 * index + shift,
                    }
                )
            for seed_number in range(3):
                values = {
                    "good": 7.0 * index,
                    "return": index + noise * rng.normal(),
                    "bad": -float(index),
                }
                for name, value in values.items():
                    scores.append(
                        {
                            "environment": environment,
                            "dataset": dataset,
                            "score_name": name,
                            "seed": seed_number,
                            "value": value,
                        }
                    )
    return runs, scores


@pytest.fixture
def points():
    runs, scores = tables(noise=1.0)
    return make_points(scores, oracle_table(runs, AGENTS), {"bad": -1})


def test_oracle_is_the_mean_over_agents_and_needs_all_of_them():
    runs, _ = tables()
    assert oracle_table(runs, AGENTS)[("A-v5", "d2")] == 40.0
    missing = [run for run in runs if not (run["dataset"] == "d2" and run["agent"] == "bc")]
    assert ("A-v5", "d2") not in oracle_table(missing, AGENTS)
    empty = [{**run, "score": None} if run["dataset"] == "d1" else run for run in runs]
    assert ("A-v5", "d1") not in oracle_table(empty, AGENTS)


def test_values_agree_with_scipy(points):
    rows = {(r["scope"], r["kind"], r["score_name"]): r for r in correlation_rows(points, "all")}
    inside = points.environments == "A-v5"
    x, y = points.x["return"][inside].mean(axis=1), points.y[inside]
    expected = {
        "pearson": scipy_stats.pearsonr(x, y)[0],
        "spearman": scipy_stats.spearmanr(x, y)[0],
        "kendall": scipy_stats.kendalltau(x, y)[0],
    }
    for kind, value in expected.items():
        assert rows["A-v5", kind, "return"]["value"] == pytest.approx(value)


def test_direction_is_taken_into_account(points):
    rows = {(r["scope"], r["kind"], r["score_name"]): r for r in correlation_rows(points, "all")}
    assert rows["A-v5", "pearson", "bad"]["value"] == pytest.approx(1.0)


def test_paired_difference_and_interval(points):
    rows = {(r["scope"], r["kind"], r["score_name"]): r for r in correlation_rows(points, "all")}
    row = rows["pooled, both min-max", "pearson", "good"]
    base = rows["pooled, both min-max", "pearson", "return"]
    assert row["value"] == pytest.approx(1.0)
    assert row["minus_return_value"] == pytest.approx(row["value"] - base["value"])
    assert row["minus_return_low"] <= row["minus_return_value"] <= row["minus_return_high"] + 1e-9
    assert base["low"] < base["value"] < base["high"]
    assert base["minus_return_value"] == 0


def test_min_max_works_within_environments():
    scaled = min_max(np.array([1.0, 3.0, 10.0, 30.0, 5.0]), np.array(["a", "a", "b", "b", "c"]))
    assert scaled.tolist() == [0, 1, 0, 1, 0]


def test_rule_of_choice_prefers_the_earlier_within_a_hundredth(points):
    assert choose(points, ["return", "good"]) == "good"
    assert choose(points, ["bad", "good"]) == "bad"


def test_leave_one_out_judges_on_the_environment_left_out():
    runs, scores = tables()
    for row in scores:  # `return` is perfect on A and inverted on B; `good` the other way round
        inverted = (row["environment"] == "B-v5") == (row["score_name"] == "return")
        if row["score_name"] in ("return", "good") and inverted:
            row["value"] = -row["value"]
    points = make_points(scores, oracle_table(runs, AGENTS), {})
    rows = {row["left_out"]: row for row in leave_one_out(points, ["return", "good"])}
    assert rows["A-v5"]["chosen"] == "good"
    assert rows["A-v5"]["chosen_pearson"] == pytest.approx(-1.0)


def test_the_choice_is_told_by_what_it_goes_by():
    runs, scores = tables()
    for row in scores:
        if row["score_name"] == "good" and row["environment"] == "B-v5":
            row["value"] = -row["value"]
    points = make_points(scores, oracle_table(runs, AGENTS), {"bad": -1})
    good, bad = choice_rows(points, ["good", "bad", "unknown"])
    assert (good["A-v5"], good["B-v5"], good["mean"]) == pytest.approx((1.0, -1.0, 0.0))
    assert bad["A-v5"] > 0.9  # lower is better


def test_score_that_a_dataset_lacks_is_left_out():
    runs, scores = tables()
    scores = [s for s in scores if not (s["score_name"] == "good" and s["dataset"] == "d3")]
    assert "good" not in make_points(scores, oracle_table(runs, AGENTS), {}).x


def test_environments_with_two_datasets_are_not_pooled(points):
    few = points.restrict((points.environments != "B-v5") | np.isin(points.datasets, ["d0", "d1"]))
    scopes = {row["scope"] for row in correlation_rows(few, "all")}
    assert scopes == {"A-v5"}


def test_tables_list_the_best_score_first_with_its_interval(points):
    text = correlation_tables(correlation_rows(points, "all"))
    assert "minus return" in text and "Spearman" in text
    first = next(line for line in text.splitlines() if line.startswith(("| bad", "| good")))
    assert "1.00 [1.00, 1.00]" in first


def test_printed_rows_correlate_as_the_facts_say():
    rows = correlation_rows(printed_points(), "paper")
    found = {(r["scope"], r["score_name"]): r for r in rows if r["kind"] == "pearson"}
    assert found["HalfCheetah", "bwd"]["value"] == pytest.approx(0.991, abs=5e-4)
    assert found["Hopper", "q"]["value"] == pytest.approx(0.891, abs=5e-4)
    assert found["Walker2d", "pd"]["value"] == pytest.approx(0.527, abs=5e-4)  # lower is better
    assert found[POOLED, "bwd"]["value"] == pytest.approx(0.980, abs=5e-4)
    assert found[POOLED, "bwd"]["minus_q_low"] > 0
