"""Transport between laws of numbered actions, with POT as the judge."""

import numpy as np
import ot
import pytest
from scipy.optimize import minimize_scalar

from rlassay.data.discrete import ActionNumbers
from rlassay.errors import SettingsError
from rlassay.transport import (
    COSTS,
    Choices,
    Problem,
    TransportSettings,
    Uniform,
    estimate,
    evaluated_pairs,
    resolve_cost,
    resolve_epsilon,
)

NUMBERS = ActionNumbers(2, 4)  # 2 to 5
UNIFORM = np.full(4, 1 / 4)


def values(member: int, states: np.ndarray) -> np.ndarray:
    """Q of every action: known, and different at every state."""
    return 3 * np.sin(states[:, :1] * np.arange(1, 5)) + states[:, 1:2] - 7.0


def law(member: int, states: np.ndarray) -> np.ndarray:
    weights = np.exp(np.cos(states[:, :1] + np.arange(4)))
    return weights / weights.sum(axis=1, keepdims=True)


def value_of(member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return values(member, states)[np.arange(len(states)), actions[:, 0].astype(int) - 2]


def problem(rows: int = 600, states: np.ndarray | None = None) -> Problem:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(rows, 2)).astype(np.float32) if states is None else states
    chosen = (rng.random((rows, 1)) > np.cumsum(law(0, states), axis=1)).sum(axis=1)
    return Problem(
        states=states,
        actions=(2 + chosen)[:, None].astype(np.float32),
        episodes=np.arange(rows) // 20,
        low=np.array([2.0]),
        high=np.array([5.0]),
        q_apply=lambda *given: None,
        q_params=None,
        training_rows=np.arange(rows // 2),
        evaluation_rows=np.arange(rows // 2, rows),
        numpy_values=value_of,
        choices=Choices(NUMBERS, values, law),
    )


def matrix_of(kind: str, q: np.ndarray) -> np.ndarray:
    """Cost of every pair of actions at one state, written out."""
    apart = 1 - np.eye(4)
    return {
        "paper": q[None] - apart,
        "sup": -q[None] - apart,
        "public": q[None] + apart,
        "gap": np.maximum(q[:, None] - q[None], 0) + apart,
        "distance": -apart,
    }[kind]


@pytest.mark.parametrize("kind", COSTS)
def test_exact_is_transport_from_the_recorded_action_to_all(kind):
    """POT's plan from a point mass to the uniform law, state by state."""
    case, settings = problem(), TransportSettings(cost=kind)
    [found] = estimate(case, settings, [0])
    sign = COSTS[kind].sign
    for place, row in list(enumerate(found.rows))[::30]:
        mass = np.zeros(4)
        mass[int(case.actions[row, 0]) - 2] = 1.0
        q = values(0, case.states[row : row + 1])[0]
        costs = matrix_of(kind, q.astype(np.float64))
        judged = sign * (ot.emd2(mass, UNIFORM, costs - costs.min()) + costs.min())
        assert found.integrand[place] == pytest.approx(judged, abs=1e-8)
    assert found.value == pytest.approx(found.integrand.mean(), abs=1e-12)


def test_no_random_number_takes_part_in_exact():
    case, settings = problem(), TransportSettings()
    assert estimate(case, settings, [0])[0].value == estimate(case, settings, [7])[0].value


@pytest.mark.parametrize("kind", ["paper", "gap"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_sinkhorn_is_transport_between_laws(kind, epsilon):
    case = problem()
    settings = TransportSettings("sinkhorn", cost=kind, epsilon=epsilon, anchors=25)
    [found] = estimate(case, settings, [0])
    assert found.converged and found.n == 25
    for place, row in enumerate(found.rows):
        state = case.states[row : row + 1]
        costs = matrix_of(kind, values(0, state)[0].astype(np.float64))
        options = {"reg_type": "KL", "max_iter": 1_000_000, "tol": 1e-14}
        judged = ot.solve(
            costs, law(0, state)[0].astype(np.float64), UNIFORM, reg=epsilon, **options
        )
        assert found.integrand[place] == pytest.approx(float(judged.value), abs=1e-8)


def test_an_action_of_no_weight_takes_no_part():
    from rlassay.transport.entropic import solve

    costs = np.random.default_rng(0).normal(size=(1, 3, 4))
    with_it = solve(costs, 0.5, np.array([[0.4, 0.6, 0.0]]), 1e-10).values
    without = solve(costs[:, :2], 0.5, np.array([[0.4, 0.6]]), 1e-10).values
    np.testing.assert_allclose(with_it, without, atol=1e-8)


def test_tail_is_its_minimum_over_all_pairs():
    case = problem()
    settings = TransportSettings("tail", cost="public", epsilon=0.3)
    [found] = estimate(case, settings, [0])
    q = values(0, case.states[300:]).astype(np.float64)
    costs = q + (case.actions[300:] != np.arange(2, 6))

    def objective(t):
        return t + (np.maximum(costs - t, 0) ** 2).mean() / (4 * 0.3)

    best = minimize_scalar(objective, bracket=(costs.min(), costs.max()), tol=1e-12)
    assert found.value == pytest.approx(float(best.fun), abs=1e-8)


def test_dual_reaches_the_entropic_value_where_there_is_one_state():
    """A bandit without context: the dual of the law that was recorded against the uniform one."""
    rows = 4_000
    case = problem(rows, np.tile(np.float32([[0.4, -0.2]]), (rows, 1)))
    settings = TransportSettings("dual", cost="gap", epsilon=1.0, steps=1_500, hidden=32, k=4)
    [found] = estimate(case, settings, [0])
    recorded = np.bincount(case.actions[rows // 2 :, 0].astype(int) - 2, minlength=4) / (rows // 2)
    costs = matrix_of("gap", values(0, case.states[:1])[0].astype(np.float64))
    judged = ot.solve(costs, recorded, UNIFORM, reg=1.0, reg_type="KL", tol=1e-12).value
    assert found.value == pytest.approx(float(judged), abs=0.03)
    [exact] = estimate(case, TransportSettings(cost="gap"), [0])
    assert found.value < exact.value - 0.05  # the product is no optimal plan here
    assert found.converged


def test_every_pair_is_evaluated_once():
    [pairs] = evaluated_pairs(problem(), TransportSettings(), [0])
    assert pairs.costs.shape == pairs.q_random.shape == (300, 4)
    assert pairs.random_actions[5, :, 0].tolist() == [2, 3, 4, 5]
    settings = TransportSettings(epsilon=None)
    assert resolve_epsilon(settings, pairs.costs) == pytest.approx(0.5 * pairs.costs.std())


def test_draws_are_of_all_actions_alike():
    drawn = Uniform(NUMBERS).draw(np.random.default_rng(0), TransportSettings(), (8_000,))
    shares = np.bincount(drawn[:, 0].astype(int), minlength=6)[2:] / 8_000
    np.testing.assert_allclose(shares, UNIFORM, atol=0.02)
    assert drawn.min() == 2 and drawn.max() == 5
    assert Uniform(NUMBERS).encode(np.float32([[3.0]])).tolist() == [[0, 1, 0, 0]]


# -- a matrix of distances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["apart.npy", "apart.csv"])
def test_a_matrix_takes_the_place_of_zero_and_one(name, tmp_path):
    apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float) ** 2
    path = tmp_path / name
    np.save(path, apart) if name.endswith("npy") else np.savetxt(path, apart, delimiter=",")
    case, settings = problem(), TransportSettings(cost="distance", ground=str(path))
    [found] = estimate(case, settings, [0])
    places = case.actions[300:, 0].astype(int) - 2
    np.testing.assert_allclose(found.integrand, -apart[places].mean(axis=1), atol=1e-12)
    assert found.value != estimate(case, TransportSettings(cost="distance"), [0])[0].value


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("0,1\n1,0\n", "2 x 2"),
        ("0,1,1,1\n" * 3 + "0,1,1,-2\n", "lowest -2"),
        ("0,1,1,1\n" * 3 + "0,1,1,nan\n", "finite"),
        ("a,b\n", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_matrix_that_is_none_is_refused(content, told, tmp_path):
    path = tmp_path / "apart.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError, match=told) as refused:
        resolve_cost(TransportSettings(ground=str(path)), NUMBERS)
    assert "\n" not in str(refused.value)


def test_another_content_of_the_file_is_read_again(tmp_path):
    import os

    path = tmp_path / "apart.npy"
    found = []
    for k, factor in enumerate((1.0, 2.0)):
        np.save(path, factor * (1 - np.eye(4)))
        os.utime(path, ns=(k + 1, k + 1))
        settings = TransportSettings(cost="distance", ground=str(path))
        found.append(estimate(problem(), settings, [0])[0].value)
    assert found[1] == pytest.approx(2 * found[0])
