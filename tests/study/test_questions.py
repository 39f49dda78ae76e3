"""The long oracle's statistics against closed forms and independent code."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rlassay.study.analysis import questions, reliability, rest
from rlassay.study.analysis.questions import Grid

RNG = np.random.default_rng(3)


def grid(count=9, agents=("bc", "iql", "td3bc", "awac"), noise=10.0) -> Grid:
    datasets = list(questions.CLUSTERS)[:count]
    environments = np.repeat(["A", "B"], count)
    truth = RNG.uniform(0, 100, 2 * count)
    scores = {"return": truth + RNG.normal(0, 20, 2 * count), "q": truth}
    reached = {agent: truth + RNG.normal(0, noise, 2 * count) for agent in agents}
    return Grid(environments, np.array(datasets * 2), scores, reached)


def test_weighted_pearson_is_pearson_of_repeated_points():
    x, y = RNG.normal(size=(2, 8))
    weights = RNG.integers(0, 4, (5, 8))
    expected = [np.corrcoef(np.repeat(x, w), np.repeat(y, w))[0, 1] for w in weights]
    np.testing.assert_allclose(questions.pearson(x, y, weights.astype(float)), expected)


def test_clusters_are_drawn_whole_and_within_their_environment():
    points = grid()
    weights = questions.cluster_weights(points.environments, points.clusters)
    for cluster in np.unique(points.clusters):
        mine = weights[:, points.clusters == cluster]
        assert (mine == mine[:, :1]).all()
    for environment in "AB":
        assert (weights[:, points.environments == environment].sum(axis=1) == 9).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(18), abs=0.1)


def test_scaling_is_repeated_inside_every_resample():
    values, environments = np.array([1.0, 2.0, 5.0, 10.0]), np.array(["A", "A", "A", "B"])
    weights = np.array([[1.0, 1, 1, 1], [1, 1, 0, 1]])
    scaled = questions.min_max_within(values, environments, weights)
    np.testing.assert_allclose(scaled, [[0, 0.25, 1, 0], [0, 1, 4, 0]])


def test_a_better_score_is_shown_better():
    rows = questions.question_rows(grid(), "test")
    primary = [
        r for r in rows if r["scaling"] == "D4RL's scale" and r["target"] == "mean of agents"
    ]
    by_name = {row["score_name"]: row for row in primary}
    assert by_name["q"]["value"] > 0.9
    assert by_name["q"]["minus_return_value"] > 0 and by_name["return"]["minus_return_value"] == 0
    assert by_name["q"]["minus_return_low"] < by_name["q"]["minus_return_value"]
    assert {row["target"] for row in rows} == {
        "mean of agents",
        "best agent",
        "bc",
        "value-based agents",
    }


def test_targets_and_forecasts():
    reached = {
        "bc": np.array([1.0, 2.0]),
        "iql": np.array([3.0, 0.0]),
        "awac": np.array([5.0, 4.0]),
    }
    two = Grid(
        np.array(["A", "A"]),
        np.array(["random", "medium"]),
        {"return": np.array([3.0, 5.0])},
        reached,
    )
    found = questions.targets(two)
    assert found["mean of agents"].tolist() == [3.0, 2.0]
    assert found["best agent"].tolist() == [5.0, 4.0]
    assert found["value-based agents"].tolist() == [4.0, 2.0]
    row = questions.forecast_rows(two, "test")[0]
    assert row["return"] == pytest.approx(np.sqrt((0 + 9) / 2))


def test_reliability_of_known_noise():
    """Agents are truth plus noise of equal variance v: the mean of k has reliability s / (s + v / k)."""
    rng = np.random.default_rng(0)
    truth, agents = rng.normal(0, 10, 5_000), 6
    reached = {str(k): truth + rng.normal(0, 20, 5_000) for k in range(agents)}
    many = Grid(np.full(5_000, "A"), np.full(5_000, "random"), {}, reached)
    assert reliability.reliability_over_agents(many.reached) == pytest.approx(
        100 / (100 + 400 / 6), abs=0.02
    )


def test_reliability_over_seeds_needs_both_seeds():
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 10, 4_000)
    rows = [
        {"environment": "A", "dataset": str(k), "agent": "bc", "seed": seed, "score": float(value)}
        for seed in (0, 1)
        for k, value in enumerate(truth + rng.normal(0, 10, 4_000))
    ]
    found = reliability.reliability_over_seeds(rows, ["bc"])
    assert found is not None and found[0] == pytest.approx(2 / 3, abs=0.03) and found[1] == 4_000
    assert reliability.reliability_over_seeds(rows[:4_000], ["bc"]) is None


def test_slope_is_scipys():
    x, y = np.arange(5.0), RNG.normal(size=5)
    expected = scipy_stats.linregress(x, y)
    assert rest.line_through(x, y) == pytest.approx((expected.slope, expected.stderr))


def curve(agent, values):
    return [
        {
            "environment": "A",
            "dataset": "random",
            "agent": agent,
            "seed": 0,
            "updates": 10_000.0 * (k + 1),
            "score": value,
        }
        for k, value in enumerate(values)
    ]


def test_a_run_is_settled_by_its_final_phase():
    flat_at_last = [0.0] * 10 + [50.0, 50.5, 49.5, 50.0, 50.0]
    rising = [10.0 * k for k in range(15)]
    rows = {
        row["agent"]: row
        for row in rest.rest_rows(curve("iql", flat_at_last) + curve("bc", rising))
    }
    assert rows["iql"]["settled"] == "yes" and rows["bc"]["settled"] == "no"
    assert rows["bc"]["drift"] == pytest.approx(40) and rows["bc"]["early"] == 60
    # OnestepRL clones until 80 % of its updates: what it does before says nothing about rest
    jump = [20.0] * 12 + [80.0, 80.0, 80.0]
    found = rest.rest_rows(curve("onestep", jump))[0]
    assert found["settled"] == "yes" and found["drift"] == 0
    assert rest.rest_rows(curve("onestep", jump)[:1])[0]["settled"] == "not known"


def test_growth_tells_clones_and_value_based_agents_apart():
    points = grid(agents=("bc", "iql", "onestep"), noise=0.0)
    keys = list(zip(points.environments, points.datasets, strict=True))
    x = points.scores["return"]
    curves = {
        (*key, agent): {10.0: sign * float(x[k]), 20.0: sign * float(x[k]) + 6}
        for agent, sign in (("bc", 1), ("iql", -1), ("onestep", -1))
        for k, key in enumerate(keys)
    }
    points = replace(points, scores=dict.fromkeys(questions.RETURNS, x))
    first, last = questions.growth_rows(points, curves, {"onestep": 10.0})
    assert last["clone, points"] - first["clone, points"] == pytest.approx(6)
    assert first["clone with return"] == pytest.approx(1)
    assert last["value-based with return_top10"] == pytest.approx(-1)


def test_correlation_by_updates_waits_for_agents_that_only_clone():
    points = grid(agents=("bc", "onestep"), noise=0.0)
    keys = list(zip(points.environments, points.datasets, strict=True))
    curves = {
        (*key, agent): {10.0: float(reached[k]), 20.0: float(reached[k])}
        for agent, reached in points.agents.items()
        for k, key in enumerate(keys)
    }
    rows = questions.when_rows(points, curves, {"onestep": 10.0})
    assert [(row["updates"], row["agents"]) for row in rows if row["score_name"] == "q"] == [
        (10.0, 1),
        (20.0, 2),
    ]
    assert all(row["value"] == pytest.approx(1) for row in rows if row["score_name"] == "q")
