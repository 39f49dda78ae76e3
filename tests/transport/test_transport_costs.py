import dataclasses

import numpy as np
import pytest
import transport_probes as probes

from rlassay.errors import SettingsError, SolverError
from rlassay.transport import (
    COSTS,
    TransportSettings,
    draw_actions,
    estimate,
    evaluated_pairs,
    pair_costs,
    register_cost,
    resolve_cost,
    resolve_epsilon,
)

Q_DATA = np.array([3.0, -1.0])
Q_RANDOM = np.array([1.0, 2.0])
ACTIONS = np.array([[0.5, 0.0], [-1.0, 1.0]])
RANDOM = np.array([[-0.5, 1.0], [-1.0, 0.0]])  # squared distances 2 and 1

EXPECTED = {
    "paper": [-1.0, 1.0],
    "sup": [-3.0, -3.0],
    "public": [2.0, 2.5],
    "gap": [2.0 + 0.25 * 2, 0.25],
    "distance": [-2.0, -1.0],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_costs_are_their_formulas(name):
    cost = resolve_cost(TransportSettings(cost=name, gap_weight=0.25))
    values = pair_costs(cost, Q_DATA, Q_RANDOM, ACTIONS, RANDOM)
    np.testing.assert_allclose(values, EXPECTED[name], rtol=1e-15)


def test_pairs_broadcast_over_random_actions():
    cost = resolve_cost(TransportSettings(cost="gap"))
    tripled = np.repeat(RANDOM[:, None], 3, axis=1)
    values = pair_costs(
        cost, Q_DATA[:, None], np.repeat(Q_RANDOM[:, None], 3, axis=1), ACTIONS[:, None], tripled
    )
    single = pair_costs(cost, Q_DATA, Q_RANDOM, ACTIONS, RANDOM)
    np.testing.assert_array_equal(values, np.repeat(single[:, None], 3, axis=1))


@pytest.mark.parametrize("estimator", ["exact", "tail", "sinkhorn", "dual"])
def test_users_cost_runs_through_every_estimator(estimator):
    settings = TransportSettings(
        estimator=estimator, cost="transport_probes:manhattan", steps=40, anchors=50, neighbours=4
    )
    problem = probes.small()
    [result] = estimate(problem, settings, [0])
    assert np.isfinite(result.value)
    assert result.cost == "transport_probes:manhattan"
    if estimator == "exact":
        [pairs] = evaluated_pairs(problem, settings, [0])
        actions = problem.actions[pairs.rows].astype(np.float64)
        near = np.abs(actions - pairs.random_actions[:, 0]).sum(-1)
        expected = (pairs.q_random[:, 0] - pairs.q_data / 2 + near).mean()
        assert result.value == pytest.approx(expected, rel=1e-12)


def test_registered_cost_has_a_sign():
    register_cost("test_only", probes.manhattan, sign=-1)
    try:
        problem = probes.small()
        [mine] = estimate(problem, TransportSettings(cost="test_only"), [0])
        [plain] = estimate(problem, TransportSettings(cost="transport_probes:manhattan"), [0])
        assert mine.value == -plain.value
        with pytest.raises(SettingsError, match="exists already"):
            register_cost("test_only", probes.manhattan)
    finally:
        del COSTS["test_only"]


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("papr", SettingsError, "paper, sup, public, gap, distance"),
        ("transport_probes:absent", SettingsError, "cannot be imported"),
        ("no_such_package:f", SettingsError, "cannot be imported"),
        ("transport_probes:STATE_DIM", SettingsError, "not a function"),
        ("transport_probes:wrong_shape", SettingsError, "another shape"),
    ],
)
def test_bad_costs_are_refused(name, error, match):
    with pytest.raises(error, match=match):
        estimate(probes.small(), TransportSettings(cost=name), [0])


def test_a_cost_that_is_not_finite_is_refused():
    with np.errstate(all="ignore"), pytest.raises(SolverError, match="not finite"):
        estimate(probes.small(), TransportSettings(cost="transport_probes:not_finite"), [0])


@pytest.mark.parametrize("name", ["k", "steps", "states", "anchors", "neighbours", "per_episode"])
def test_counts_below_one_are_refused(name):
    with pytest.raises(SettingsError, match=name):
        TransportSettings(**{name: 0})


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_epsilon_must_be_positive(value):
    with pytest.raises(SettingsError, match="epsilon"):
        TransportSettings(epsilon=value)


def test_epsilon_is_relative_unless_named():
    costs = np.array([[0.0, 2.0], [4.0, 6.0]])
    deviation = costs.std()
    assert resolve_epsilon(TransportSettings(estimator="tail"), costs) == 0.1 * deviation
    assert resolve_epsilon(TransportSettings(estimator="exact"), costs) == 0.5 * deviation
    assert resolve_epsilon(TransportSettings(estimator="tail", epsilon=3.0), costs) == 3.0
    pooled = resolve_epsilon(TransportSettings(), costs, costs + 100)
    assert pooled == pytest.approx(0.5 * np.concatenate([costs, costs + 100]).std())
    assert resolve_epsilon(TransportSettings(), np.full(5, 7.0)) > 0


def test_uniform_actions_fill_the_bounds():
    low, high = np.array([-2.0, 0.0]), np.array([2.0, 10.0])
    drawn = draw_actions(np.random.default_rng(0), TransportSettings(), (20_000,), low, high)
    assert (drawn >= low).all() and (drawn <= high).all()
    np.testing.assert_allclose(drawn.mean(0), [0, 5], atol=0.1)
    np.testing.assert_allclose(drawn.std(0), (high - low) / np.sqrt(12), rtol=0.02)


def test_clipped_normal_is_the_papers_on_unit_bounds_and_scaled_elsewhere():
    settings = dataclasses.replace(TransportSettings(), random_policy="clipped_normal")
    rng = np.random.default_rng(0)
    unit = draw_actions(rng, settings, (40_000,), -np.ones(1), np.ones(1))
    assert (np.abs(unit) == 1).mean() == pytest.approx(0.317, abs=0.01)
    assert (unit**2).mean() == pytest.approx(0.516, abs=0.01)
    low, high = np.array([1.0]), np.array([5.0])
    scaled = draw_actions(np.random.default_rng(0), settings, (40_000,), low, high)
    np.testing.assert_allclose(scaled, 3 + 2 * unit, rtol=1e-6)
