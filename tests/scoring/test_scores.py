"""Each score's formula, on numbers that can be checked by hand."""

from typing import get_args

import numpy as np
import pytest

from rlassay.errors import SettingsError
from rlassay.results.card import READING_ORDER
from rlassay.scoring import COLUMNS, SCORES, register_score, resolve, signs, spec_of
from rlassay.scoring.coverage import count_cells, neighbour_entropy
from rlassay.scoring.policies import ActionScale, Policies, fit_policies
from rlassay.scoring.registry import evaluate
from rlassay.scoring.settings import BaselineSettings
from rlassay.transport import ESTIMATORS, TransportSettings, tail
from rlassay.transport.closed import TransportResult, weighted_tail
from rlassay.transport.settings import RELATIVE_EPSILON, EstimatorName

RETURNS = np.array([0.0, 10.0, 20.0, 30.0])


def value(name, **columns):
    measured = evaluate(SCORES[name], columns)
    return float(measured.statistic(measured.values, np.ones(len(measured.values))))


def result(integrand):
    values = np.asarray(integrand)
    return TransportResult(values.mean(), "exact", "paper", 1.0, len(values), None, values)


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("reward", {"rewards": [1.0, 2.0, 6.0]}, 3.0),
        ("return", {"episode_returns": RETURNS}, 15.0),
        ("return_by_step", {"episode_returns": [10.0, 40.0], "episode_lengths": [10, 20]}, 30.0),
        ("return_top10", {"episode_returns": np.arange(20.0)}, 18.5),
        ("tq", {"episode_returns": RETURNS, "reference": (5.0, 25.0)}, 0.5),
        ("eri", {"episode_returns": RETURNS}, 1.0),
        ("eri", {"episode_returns": np.array([0.0, 0.0, 0.0, 8.0])}, 3.0),
        ("rpsv", {"episode_returns": RETURNS}, (5.0**2 + 15.0**2) / 4),
        ("saco", {"cells": (3, 12)}, 0.25),
        ("q", {"q": [1.0, 3.0]}, 2.0),
        ("advantage", {"q": np.array([1.0, 3.0]), "v": np.array([0.5, 0.5])}, 1.5),
        ("pd", {"v_random": np.array([1.0, 4.0]), "v": np.array([3.0, 3.0])}, -0.5),
        ("bwd.exact", {"transport": result([2.0, 4.0])}, 3.0),
        ("bwd.dual", {"transport": result([2.0, 4.0])}, 3.0),
        ("bwd.sinkhorn", {"transport": result([2.0, 4.0])}, 3.0),
        ("eas", {"action_spread": [0.1, 0.3]}, 0.2),
        ("bc_error", {"cloning_errors": [0.1, 0.3]}, 0.2),
        ("extractable", {"episode_returns": [1.0, 3.0], "conflict": 0.0}, 3.0),
        ("extractable", {"episode_returns": [1.0, 3.0], "conflict": 0.5}, 2.0),
        ("extractable", {"episode_returns": [1.0, 3.0], "conflict": 1.0}, 1.0),
        ("knn_entropy", {"neighbour_entropy": [1.0, 3.0]}, 2.0),
    ],
)
def test_value(name, columns, expected):
    assert value(name, **columns) == pytest.approx(expected)


def test_equal_returns_leave_no_room():
    assert value("eri", episode_returns=np.full(4, 7.0)) == 0.0
    assert value("rpsv", episode_returns=np.full(4, 7.0)) == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("lowest", [None, 320.0])
def test_tail_is_the_minimum_of_its_definition(epsilon, lowest):
    rng = np.random.default_rng(0)
    costs, weights = rng.normal(300, 30, (200, 2)), rng.integers(0, 4, 200).astype(float)
    shares = np.repeat(weights / weights.sum() / 2, 2)
    grid = np.linspace(costs.min() - 400, costs.max(), 40_001)
    grid = grid if lowest is None else np.append(grid[grid > lowest], lowest)
    objective = [t + shares @ np.maximum(costs.ravel() - t, 0) ** 2 / (4 * epsilon) for t in grid]
    found = weighted_tail(costs, weights, epsilon=epsilon, lowest=lowest)
    assert found == pytest.approx(min(objective), rel=1e-6)
    assert found <= min(objective) + 1e-9


def test_tail_of_many_weights_equals_one_by_one():
    rng = np.random.default_rng(1)
    costs, weights = rng.normal(size=(50, 1)), rng.integers(0, 3, (7, 50)).astype(float)
    together = weighted_tail(costs, weights, epsilon=0.1)
    alone = [weighted_tail(costs, row, epsilon=0.1) for row in weights]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(SCORES))
def test_every_score_says_what_it_is(name):
    spec = SCORES[name]
    assert spec.direction in ("higher", "lower")
    assert spec.unit and spec.title and spec.revision >= 1
    assert spec.meaning[0].isupper() and spec.meaning.endswith(".")
    assert set(spec.needs) <= {*COLUMNS, "transport"}
    assert (spec.needs == ("transport",)) == (spec.estimator is not None)


def test_bwd_is_the_estimator_that_is_named():
    assert spec_of("bwd", "tail").estimator == "tail"
    assert spec_of("bwd.dual", "tail") is SCORES["bwd.dual"]
    assert spec_of("q", "tail") is SCORES["q"]


def test_every_estimator_has_one_score_of_its_own():
    named = [spec.estimator for name, spec in SCORES.items() if name.startswith("bwd.")]
    assert sorted(map(str, named)) == sorted(ESTIMATORS) == sorted(RELATIVE_EPSILON)
    assert get_args(EstimatorName) and set(get_args(EstimatorName)) == set(ESTIMATORS)


@pytest.fixture
def registry():
    before = dict(SCORES)
    yield SCORES
    SCORES.clear()
    SCORES.update(before)


def test_a_registered_score_is_resolved_and_evaluated(registry):
    def spread(rewards):
        return rewards

    register_score(
        "reward_range",
        spread,
        direction="lower",
        unit="reward",
        needs=["rewards"],
        description="range",
        per="transition",
        statistic=lambda values, weights: np.ptp(values[weights > 0]),
    )
    assert "reward_range" in resolve(None)
    measured = evaluate(registry["reward_range"], {"rewards": np.array([1.0, 5.0, 2.0])})
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    assert measured.statistic(measured.values, weights).tolist() == [4.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "q"}, "exists already"),
        ({"name": "a b"}, "not a word"),
        ({"direction": "up"}, "direction"),
        ({"needs": ["rewards", "moods"]}, "unknown columns"),
    ],
)
def test_a_bad_registration_is_refused(registry, changes, message):
    good = {
        "name": "x",
        "function": len,
        "direction": "higher",
        "unit": "1",
        "needs": ["rewards"],
        "description": "d",
    }
    options = good | changes
    with pytest.raises(SettingsError, match=message):
        register_score(options.pop("name"), options.pop("function"), **options)


def test_an_unknown_score_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match="knn_entropy.*got: moods"):
        resolve(["q", "moods"])


# -- coverage, cloning, entropy -----------------------------------------------------------------------------------


def test_cells_and_distinct_rows():
    observations = np.array([[0.0], [0.1], [0.9], [0.1], [1.0]])
    actions = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    low, high = np.array([0.0, 0.0]), np.array([1.0, 1.0])
    assert count_cells(observations, actions, low, high, bins=2) == (3, 4)


def test_cells_depend_on_the_shared_grid():
    rng = np.random.default_rng(0)
    narrow = rng.uniform(0.4, 0.6, (500, 2))
    own, _ = count_cells(narrow[:, :1], narrow[:, 1:], narrow.min(0), narrow.max(0), bins=5)
    pooled, _ = count_cells(narrow[:, :1], narrow[:, 1:], np.zeros(2), np.ones(2), bins=5)
    assert own == 25 and pooled <= 9


def test_many_rows_do_not_collide():
    rows = np.random.default_rng(0).normal(size=(20_000, 4)).astype(np.float32)
    _, distinct = count_cells(rows[:, :2], rows[:, 2:], rows.min(0), rows.max(0), bins=5)
    assert distinct == 20_000


@pytest.mark.parametrize("dimensions", [1, 3])
def test_entropy_of_a_normal(dimensions):
    points = np.random.default_rng(0).normal(size=(2_000, dimensions))
    values, _ = neighbour_entropy(points, 4)
    expected = 0.5 * dimensions * np.log(2 * np.pi * np.e)
    assert values.mean() == pytest.approx(expected, abs=0.08)


def test_entropy_ignores_repetitions_and_dead_dimensions():
    points = np.random.default_rng(0).normal(size=(300, 2))
    values, _ = neighbour_entropy(points, 4)
    padded = np.concatenate([points, np.ones((300, 1))], axis=1)
    again, kept = neighbour_entropy(np.tile(padded, (2, 1)), 4)
    assert len(kept) == 300
    np.testing.assert_allclose(np.sort(again), np.sort(values), rtol=1e-9)


def test_entropy_of_too_few_points_is_empty():
    assert len(neighbour_entropy(np.zeros((3, 2)), 4)[0]) == 0


def test_policies_find_signal_and_noise():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(4_000, 2)).astype(np.float32)
    before = 0.5 * states[:, :1] + 0.2 * rng.normal(size=(4_000, 1))
    actions = np.tanh(before).astype(np.float32)
    policies = fit_policies(states, actions, actions, BaselineSettings(fit_steps=1_500), [0])
    assert policies.spread(0, states).mean() == pytest.approx(0.2, rel=0.1)
    expected = (np.tanh(before) - np.tanh(0.5 * states[:, :1])).var() / actions.var()
    assert policies.cloning_errors(0, states, actions).mean() == pytest.approx(expected, rel=0.15)


def test_a_constant_action_clones_without_error():
    states = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    actions = np.full((100, 1), 0.3, np.float32)
    policies = fit_policies(states, actions, actions, BaselineSettings(fit_steps=20), [0])
    assert policies.cloning_errors(0, states, actions).max() == 0.0


def test_tail_carries_its_own_statistic():
    settings = TransportSettings(estimator="tail", cost="public", epsilon=0.5)
    measured = evaluate(SCORES["bwd.tail"], {"transport": tail(np.ones((3, 1)), settings)})
    assert measured.values.shape == (3, 1)
    assert measured.statistic(measured.values, np.ones(3)) == pytest.approx(0.5)  # E c - epsilon
    spread = evaluate(SCORES["bwd.tail"], {"transport": tail(np.array([0.0, 8.0]), settings)})
    # t at which E(c - t)_+ = 2 epsilon = 1 is 6; 6 + E(c - 6)_+^2 / 2 = 7
    assert spread.statistic(spread.values, np.ones(2)) == pytest.approx(7.0)
    # with weights 3 to 1: (8 - t) / 4 = 1 at t = 4; 4 + 16 / 4 / 2 = 6
    assert spread.statistic(spread.values, np.array([3.0, 1.0])) == pytest.approx(6.0)


def test_a_cloning_error_of_one_ignores_the_state():
    """Policies that always give the mean action err by the actions' variance, dimension by dimension."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(500, 2)).astype(np.float32)
    actions = (rng.normal(size=(500, 3)) * [1.0, 20.0, 0.0] + [5.0, -3.0, 2.0]).astype(np.float32)
    zero = [{"w": np.zeros((2, 3)), "b": np.zeros(3)}]
    policies = Policies(({"clone": zero},), ActionScale.of(actions))
    errors = policies.cloning_errors(0, states, actions)
    assert errors.mean() == pytest.approx(1.0, rel=1e-5)
    single = (actions[0].astype(float) - actions.mean(0)) / np.where([1, 1, 0], actions.std(0), 1)
    assert errors[0] == pytest.approx((single[:2] ** 2).mean(), rel=1e-4)


def test_spread_is_the_mean_deviation_over_dimensions_within_its_range():
    layers = [{"w": np.zeros((1, 4)), "b": np.log([9.0, 9.0, 0.5, 1.5])}]
    policies = Policies(({"normal": layers},), ActionScale(np.zeros(2), np.ones(2)))
    assert policies.spread(0, np.zeros((3, 1))) == pytest.approx(np.full(3, 1.0))


def test_entropy_of_four_points_by_hand():
    """k = 1 among 4 points on a line at distances 1, 1, 2, 4: psi(4) - psi(1) + log 2 + log r."""
    values, kept = neighbour_entropy(np.array([[0.0], [1.0], [3.0], [7.0]]), 1)
    constant = (1 + 1 / 2 + 1 / 3) + np.log(2)
    np.testing.assert_allclose(values, constant + np.log([1.0, 1.0, 2.0, 4.0]), rtol=1e-12)
    assert kept.tolist() == [0, 1, 2, 3]


def test_steps_weigh_returns_under_resampled_episodes_too():
    measured = evaluate(
        SCORES["return_by_step"], {"episode_returns": [10.0, 40.0], "episode_lengths": [10, 20]}
    )
    weights = np.array([[1.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    found = measured.statistic(measured.values, weights)
    np.testing.assert_allclose(found, [900 / 30, 1000 / 40, 40.0])


def test_the_card_reads_scores_in_the_registrys_order():
    assert tuple(SCORES) == READING_ORDER
    assert signs() == {name: -1 if name in ("pd", "bc_error") else 1 for name in SCORES}
