import dataclasses

import jax
import numpy as np
import ot
import pytest
import transport_probes as probes
from scipy.stats import norm

from rlassay.transport import TransportSettings, estimate, evaluated_pairs, exact
from rlassay.transport.entropic import solve
from rlassay.transport.sinkhorn import nearest_rows

SETTINGS = TransportSettings(estimator="sinkhorn", anchors=60, neighbours=8)


def pot_value(costs: np.ndarray, epsilon: float) -> float:
    """POT's entropic value, with the Kullback-Leibler divergence to the product."""
    rows, columns = (np.full(count, 1 / count) for count in costs.shape)
    return float(
        ot.solve(
            costs, rows, columns, reg=epsilon, reg_type="KL", max_iter=100_000, tol=1e-12
        ).value
    )


def matrices(scale: float = 1.0, centre: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 9, 1, 2)), rng.normal(size=(5, 1, 7, 2))
    return centre + scale * (rng.normal(size=(5, 1, 7)) - ((x - y) ** 2).sum(-1))


@pytest.mark.parametrize("relative", [0.05, 0.5, 5.0])
@pytest.mark.parametrize(("scale", "centre"), [(1.0, 0.0), (100.0, -3_000.0)])
def test_values_agree_with_pot(relative, scale, centre):
    costs = matrices(scale, centre)
    epsilon = relative * scale
    found = solve(costs, epsilon)
    expected = [pot_value(one, epsilon) for one in costs]
    np.testing.assert_allclose((found.values - expected) / scale, 0, atol=1e-4)
    assert found.marginal_error.max() <= 1e-6


def test_values_agree_with_ott():
    from ott.geometry.geometry import Geometry
    from ott.problems.linear.linear_problem import LinearProblem
    from ott.solvers.linear.sinkhorn import Sinkhorn

    costs = matrices()
    solver = Sinkhorn(threshold=1e-6, max_iterations=5_000)

    def value(one):
        return solver(LinearProblem(Geometry(cost_matrix=one, epsilon=0.5))).reg_ot_cost

    expected = jax.jit(jax.vmap(value))(costs.astype(np.float32))
    np.testing.assert_allclose(solve(costs, 0.5).values, expected, atol=1e-4)


def gaussian_value(mean: float, first: float, second: float, epsilon: float) -> float:
    """Closed form for cost (x-y)^2 between N(mean, first^2) and N(0, second^2) (Janati et al. 2020)."""
    half = epsilon / 2  # their sigma^2
    root = np.sqrt(4 * first**2 * second**2 + half**2)
    entropy = half * (1 - np.log(2 * half)) + half * np.log(root + half)
    return mean**2 + first**2 + second**2 - root + entropy


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_gaussians_have_their_closed_form(epsilon):
    quantiles = norm.ppf((np.arange(1_000) + 0.5) / 1_000)
    x, y = 0.4 + 0.6 * quantiles, 1.0 * quantiles
    costs = -(
        (x[:, None] - y[None]) ** 2
    )  # cost `distance`: as (x+y)^2 up to terms of one variable
    mirrored = gaussian_value(0.4, 0.6, 1.0, epsilon)
    expected = mirrored - 2 * (0.4**2 + 0.6**2) - 2 * 1.0**2
    assert solve(costs[None], epsilon).values[0] == pytest.approx(expected, abs=0.01)


def test_small_epsilon_approaches_the_reversed_distance():
    quantiles = norm.ppf((np.arange(200) + 0.5) / 200)
    costs = -((0.4 + 0.6 * quantiles[:, None] - quantiles[None]) ** 2)
    found = solve(costs[None], 0.02)
    assert found.values[0] == pytest.approx(-(0.4**2 + (0.6 + 1.0) ** 2), abs=0.08)


@pytest.mark.parametrize("centre", [-1e6, 1e6])
@pytest.mark.parametrize("epsilon", [1.0, 1e3])
def test_extreme_costs_stay_finite_and_between_their_bounds(centre, epsilon):
    costs = matrices(scale=1e5, centre=centre)
    found = solve(costs, epsilon)
    assert np.isfinite(found.values).all()
    assert (found.values <= costs.mean((1, 2)) + 1e-6).all()
    assert (found.values >= costs.min((1, 2)) - 1e-6).all()


def brute_force(states, episodes, anchor, count, cap):
    order = np.argsort(((states - states[anchor]) ** 2).sum(1), kind="stable")
    seen, chosen = {}, []
    for row in order:
        seen[episodes[row]] = seen.get(episodes[row], 0) + 1
        if seen[episodes[row]] <= cap:
            chosen.append(row)
    return chosen[:count]


@pytest.mark.parametrize(("episode_length", "cap"), [(4, 2), (60, 2), (60, 1)])
def test_neighbours_are_the_nearest_with_few_from_one_episode(episode_length, cap):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(720, 3)), axis=0).astype(np.float32)
    episodes = np.arange(720) // episode_length
    anchors = np.arange(0, 720, 7)
    near, distances = nearest_rows(walk, episodes, anchors, 12, cap)
    for anchor, found in zip(anchors, near, strict=True):
        assert found.tolist() == brute_force(walk, episodes, anchor, 12, cap)
    assert (near[:, 0] == anchors).all() and (distances[:, 0] == 0).all()
    assert (np.diff(distances, axis=1) >= -1e-4).all()


def test_few_episodes_give_fewer_neighbours():
    states = np.random.default_rng(0).normal(size=(90, 2)).astype(np.float32)
    near, _ = nearest_rows(states, np.arange(90) // 30, np.arange(5), 12, 2)
    assert near.shape == (5, 6)


def test_one_neighbour_equals_exact():
    problem = probes.small(probes.deterministic, rows=3_000, evaluate=2_000)
    settings = dataclasses.replace(SETTINGS, neighbours=1, anchors=2_000)
    [result] = estimate(problem, settings, [0])
    assert result.value == pytest.approx(result.diagnosis["product"], abs=1e-9)
    [fresh] = estimate(problem, dataclasses.replace(settings, estimator="exact"), [0])
    error = fresh.diagnosis["cost_sd"] * np.sqrt(2 / 2_000)
    assert abs(result.value - fresh.value) < 4 * error


def test_independent_behaviour_matches_pot():
    problem = probes.problem(probes.uniform, rows=8_000, evaluate=4_000)
    settings = dataclasses.replace(
        SETTINGS, neighbours=256, anchors=100, per_episode=20, epsilon=0.4
    )
    [result] = estimate(problem, settings, [0])
    grid = (np.arange(400) + 0.5) / 200 - 1
    plan_part = pot_value(-((grid[:, None] - grid[None]) ** 2), 0.4)
    values = problem.values(0, problem.states[result.rows], np.zeros((len(result.rows), 1)))
    deviation = np.sqrt(((grid[:, None] - grid[None]) ** 2).var())
    assert result.value == pytest.approx(values.mean() + plan_part, abs=0.06 * deviation)
    assert result.diagnosis["product"] - result.value > 0.3 * deviation


def test_result_reports_radius_marginals_and_rows():
    problem = probes.small()
    [result] = estimate(problem, SETTINGS, [0])
    assert result.converged is True and result.n == len(result.integrand) == 60
    assert np.isin(result.rows, problem.evaluation_rows).all()
    assert result.diagnosis["radius"] > 0 and result.diagnosis["marginal_error"] <= 1e-6
    assert result.integrand.mean() == pytest.approx(result.value, rel=1e-12)
    [mirrored] = estimate(problem, dataclasses.replace(SETTINGS, cost="sup"), [0])
    assert mirrored.value >= mirrored.diagnosis["product"]
    assert result.value <= result.diagnosis["product"]


def test_sinkhorn_uses_the_epsilon_of_the_evaluated_pairs():
    problem = probes.small()
    [pairs] = evaluated_pairs(problem, SETTINGS, [0])
    [result] = estimate(problem, SETTINGS, [0])
    assert result.epsilon == exact(pairs.costs, TransportSettings()).epsilon
