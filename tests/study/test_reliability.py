"""The noise ceiling against closed forms."""

import numpy as np
import pytest

from rlassay.study.analysis.correlate import POOLED, Points
from rlassay.study.analysis.reliability import (
    ceiling,
    correlation_ceilings,
    reliability_over_agents,
    stepped_up,
)


def test_halves_are_stepped_up_by_spearman_and_brown():
    assert stepped_up(0.5) == pytest.approx(2 / 3)
    assert stepped_up(1.0, 3 / 7) == 1.0
    assert ceiling(0.81) == pytest.approx(0.9) and ceiling(-0.1) is None


def test_unequal_parts_give_the_reliability_of_the_whole():
    """Parallel agents of signal 1 and noise v: parts of three and four correlate at a known value."""
    noise = 2.0
    parts = 1 / np.sqrt((1 + noise / 3) * (1 + noise / 4))
    assert stepped_up(parts, 3 / 7) == pytest.approx(1 / (1 + noise / 7))


@pytest.mark.parametrize("agents", [6, 7])
def test_reliability_of_known_noise(agents):
    rng = np.random.default_rng(0)
    reached = rng.normal(0, 10, 5_000) + rng.normal(0, 20, (agents, 5_000))
    expected = 100 / (100 + 400 / agents)
    assert reliability_over_agents(reached) == pytest.approx(expected, abs=0.02)


def test_ceilings_are_scaled_as_the_correlations_beside_them():
    """Two environments on different levels: pooled without scaling the levels alone look like agreement."""
    rng = np.random.default_rng(1)
    environments = np.repeat(["A", "B"], 40)
    names = np.array([f"d{k}" for k in range(40)] * 2)
    level = np.where(environments == "A", 0.0, 500.0)
    reached = level + rng.normal(0, 10, (4, 80))  # agents agree on nothing but the level
    runs = [
        {"environment": e, "dataset": d, "agent": f"a{k}", "seed": 0, "score": reached[k, i]}
        for k in range(4)
        for i, (e, d) in enumerate(zip(environments, names, strict=True))
    ]
    points = Points(environments, names, reached.mean(axis=0), {}, {})
    rows = correlation_ceilings(points, runs, [f"a{k}" for k in range(4)], "all")
    found = {row["scope"]: row["reliability"] for row in rows}
    assert found["pooled, oracle raw"] > 0.99 and abs(found[POOLED]) < 0.6
    assert {row["n"] for row in rows} == {40, 80} and set(found) > {"A", "B"}
