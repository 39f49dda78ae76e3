import numpy as np
import pytest
import transport_probes as probes
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from rlassay.errors import SolverError
from rlassay.transport import TransportSettings, estimate, evaluated_pairs, exact, tail

RNG = np.random.default_rng(0)
SAMPLES = {
    "normal": RNG.normal(3, 30, 5_000),
    "skewed": -np.exp(RNG.normal(0, 1, 5_000)),
    "two modes": np.concatenate([RNG.normal(-5, 1, 2_000), RNG.normal(90, 4, 2_000)]),
    "far away": 1e6 + RNG.normal(size=1_000),
    "constant": np.full(10, -7.0),
}


def tail_settings(**changes) -> TransportSettings:
    return TransportSettings(**{"estimator": "tail", "cost": "public"} | changes)


def objective(costs, epsilon):
    return lambda t: t + (np.maximum(costs - t, 0) ** 2).mean() / (4 * epsilon)


@pytest.mark.parametrize("cost", ["paper", "sup", "public", "gap", "distance"])
def test_exact_is_its_formula(cost):
    problem = probes.small(probes.plane, dim=2)
    settings = TransportSettings(cost=cost, k=3, gap_weight=0.5)
    [pairs] = evaluated_pairs(problem, settings, [4])
    [result] = estimate(problem, settings, [4])
    actions, q = problem.actions[pairs.rows][:, None].astype(np.float64), pairs.q_random
    square = ((pairs.random_actions - actions) ** 2).sum(-1)
    gap = np.maximum(pairs.q_data[:, None] - q, 0)
    expected = {
        "paper": q - square,
        "sup": q + square,
        "public": q + square / 2,
        "gap": gap + 0.5 * square,
        "distance": -square,
    }[cost]
    assert result.value == pytest.approx(expected.mean(), rel=1e-12)
    np.testing.assert_allclose(result.integrand, expected.mean(1), rtol=1e-12)
    assert result.n == 400 and len(result.integrand) == 400
    np.testing.assert_array_equal(result.rows, problem.evaluation_rows)


@pytest.mark.parametrize(("regulariser", "sign"), [("entropic", -1), ("quadratic", 1)])
@pytest.mark.parametrize(("cost", "orientation"), [("paper", 1), ("sup", -1)])
def test_literal_value_lacks_the_restored_constant(regulariser, sign, cost, orientation):
    costs = SAMPLES["normal"]
    result = exact(costs, TransportSettings(cost=cost, regulariser=regulariser, epsilon=2.0))
    assert result.diagnosis["literal"] == pytest.approx(orientation * (costs.mean() + sign * 2.0))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("epsilon", [None, 1e-3, 1.0, 1e3])
def test_tail_is_the_minimum_of_its_definition(name, epsilon):
    costs = SAMPLES[name]
    result = tail(costs, tail_settings(epsilon=epsilon))
    bounds = (costs.mean() - 3 * result.epsilon, costs.max() + result.epsilon)
    found = minimize_scalar(
        objective(costs, result.epsilon), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    )
    assert result.value == pytest.approx(found.fun, rel=1e-6)
    assert result.value <= found.fun + 1e-9 * abs(found.fun)
    rounding = 1e-9 * np.abs(costs).max()
    assert costs.mean() - result.epsilon - rounding <= result.value <= costs.max() + rounding
    assert result.integrand.mean() == pytest.approx(result.value, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_tail_is_minus_the_quadratic_dual_of_the_negative_with_constant_potentials(epsilon):
    costs = SAMPLES["two modes"]

    def minus_dual(u):
        return -(u - (np.maximum(u - -costs, 0) ** 2).mean() / (4 * epsilon))

    best = minimize_scalar(
        minus_dual,
        bounds=(-costs.max(), -costs.mean() + 3 * epsilon),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert tail(costs, tail_settings(epsilon=epsilon)).value == pytest.approx(best.fun, rel=1e-8)


def test_tail_of_cost_sup_is_that_of_its_negative():
    costs = SAMPLES["normal"]
    mirrored = tail(-costs, tail_settings(cost="sup"))
    assert mirrored.value == tail(costs, tail_settings()).value


def test_tail_floor_of_non_positive_potentials():
    costs = np.array([-52.0, -50.0, 0.1, 0.2])
    floored = tail(costs, tail_settings(potentials="non_positive", epsilon=1.0))
    assert floored.diagnosis["threshold"] == 0
    assert floored.value == pytest.approx((0.1**2 + 0.2**2) / 4 / 4)
    assert tail(costs, tail_settings(epsilon=1.0)).value < 0


def test_tail_grows_with_spread_and_commutes_with_shifts():
    costs = SAMPLES["normal"]
    settings = tail_settings(epsilon=1.0)
    value = tail(costs, settings).value
    assert tail(costs + 12, settings).value == pytest.approx(value + 12, rel=1e-12)
    assert tail(costs.mean() + 2 * (costs - costs.mean()), settings).value > value
    doubled = tail(2 * costs, tail_settings(epsilon=2.0)).value
    assert doubled == pytest.approx(2 * value, rel=1e-12)


# Table 1 of the paper: Q, A, PD and BWD of the Medium, Medium-Expert and Expert rows.
TABLE = {
    "HalfCheetah": {
        "M": (414.775, -0.095, -13.347, 468.918),
        "ME": (678.412, -0.436, -17.851, 1130.780),
        "E": (1029.175, 0.122, -31.876, 1185.976),
    },
    "Hopper": {
        "M": (238.403, 0.020, -1.805, 306.393),
        "ME": (276.679, 0.295, -2.269, 356.766),
        "E": (348.335, 0.093, -1.573, 391.350),
    },
    "Walker": {
        "M": (279.726, -0.311, -16.264, 358.277),
        "ME": (362.572, -0.552, -14.659, 510.431),
        "E": (484.168, -0.268, -7.108, 543.489),
    },
}
NORMAL = norm.ppf((np.arange(40_000) + 0.5) / 40_000)


@pytest.mark.parametrize(
    ("environment", "expected"), [("HalfCheetah", 1122), ("Hopper", 365), ("Walker", 509)]
)
def test_tail_predicts_the_papers_medium_expert_rows(environment, expected):
    rows = TABLE[environment]
    mean = {name: q - a + pd for name, (q, a, pd, _) in rows.items()}

    def phi(costs):
        return tail(costs, tail_settings(epsilon=1.0)).value

    def fitted(name):
        printed = rows[name][3]
        spread = brentq(lambda sd: phi(mean[name] + sd * NORMAL) - printed, 1.0, 500.0)
        return mean[name] + spread * NORMAL

    mixture = np.concatenate([fitted("M"), fitted("E")])
    predicted = phi(mixture - mixture.mean() + mean["ME"])
    assert predicted == pytest.approx(expected, abs=1.5)
    assert predicted == pytest.approx(rows["ME"][3], rel=0.025)
    assert abs(mean["ME"] - rows["ME"][3]) > 5 * abs(predicted - rows["ME"][3])


@pytest.mark.parametrize("costs", [np.zeros(0), np.array([1.0, np.nan])])
def test_costs_must_be_finite_and_present(costs):
    with pytest.raises(SolverError, match="empty or not finite"):
        exact(costs, TransportSettings())
