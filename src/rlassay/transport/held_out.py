"""The value of trained potentials on held-out pairs, in NumPy float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlassay.kernel import forward
from rlassay.transport.closed import TransportResult, restored_constant, tail_threshold
from rlassay.transport.costs import resolve_cost
from rlassay.transport.problem import BLOCK, Pairs, Problem
from rlassay.transport.settings import TransportSettings, cost_scale

FINITE_ABOVE = 600.0  # the exponential goes on as its tangent where float64 would end
SETTLED = 0.01  # of sd(c): the most a Newton step may still gain after a converged training
MASS_ERROR = 0.1  # of the transported mass on held-out pairs, likewise
GAIN_PAIRS = 6_000  # held-out pairs on which that gain is computed


class Scale(NamedTuple):
    """Units of one seed's training: the costs' mean and deviation, and epsilon."""

    mean: float
    deviation: float
    epsilon: float


def units_of(settings: TransportSettings, costs: np.ndarray, epsilon: float) -> Scale:
    """Units in which potentials start near the costs; potentials bound to be non-positive start at zero at most."""
    mean = float(costs.mean())
    if settings.potentials == "non_positive":
        mean = min(mean, 0.0)
    return Scale(mean, cost_scale(costs), epsilon)


class Trained(NamedTuple):
    """Potentials of one seed in float64, their units, and their training."""

    potentials: list[dict[str, np.ndarray]]
    scale: Scale
    curve: dict[str, list]


def evaluate(
    problem: Problem,
    settings: TransportSettings,
    trained: Trained,
    calibration: Pairs,
    pairs: Pairs,
) -> TransportResult:
    """The dual value on held-out pairs; its constant is set on training pairs, never on the evaluated ones."""
    sign = resolve_cost(settings).sign
    epsilon = trained.scale.epsilon
    shift = 0.0
    if settings.potentials == "free":
        before = potential_sum(problem, settings, trained, calibration) - calibration.costs
        shift = _best_constant(settings, before, epsilon)
    total = potential_sum(problem, settings, trained, pairs) + shift
    penalty, plan = _penalty_and_plan(settings, total - pairs.costs, epsilon)
    integrand = sign * (total - penalty).mean(axis=1)
    value = float(integrand.mean())
    diagnosis = {
        "literal": value - sign * restored_constant(settings, epsilon),
        "below_exact": (float(pairs.costs.mean()) - sign * value) / trained.scale.deviation,
        "mass": float(plan.mean()),
        "remaining_gain": _remaining_gain(problem, settings, trained, pairs, plan),
        "constant": shift,
        "cost_sd": trained.scale.deviation,
    }
    units = np.asarray(trained.curve["value"]) * trained.scale.deviation + trained.scale.mean
    curve = {"step": trained.curve["step"], "value": (sign * units).tolist()}
    return TransportResult(
        value=value,
        estimator="dual",
        cost=settings.cost,
        epsilon=epsilon,
        n=len(pairs.rows),
        converged=_converged(settings, diagnosis),
        integrand=integrand,
        rows=pairs.rows,
        diagnosis=diagnosis,
        curve=curve,
    )


def _converged(settings: TransportSettings, diagnosis: dict[str, float]) -> bool | None:
    """Whether the potentials are optimal; with a sign constraint nobody can tell from the gradient."""
    if settings.potentials == "non_positive":
        return None
    return diagnosis["remaining_gain"] <= SETTLED and abs(diagnosis["mass"] - 1) <= MASS_ERROR


def _remaining_gain(
    problem: Problem, settings: TransportSettings, trained: Trained, pairs: Pairs, plan: np.ndarray
) -> float:
    """What one Newton step on the potentials' last layers would add to the value, in sd(c).

    The dual is concave in the last layer, so the Newton decrement tells how far training is from its optimum there. Its
    two slopes come from different halves of the states, else their noise would count as gain.
    """
    step = -(-len(pairs.rows) // GAIN_PAIRS)
    inputs = _pair_inputs(problem, pairs, slice(None, None, step))
    k = pairs.costs.shape[1]
    g, f = (_hidden(trained.potentials, i, x).astype(np.float32) for i, x in enumerate(inputs))
    features = np.concatenate(
        [np.repeat(g, k, axis=0), f, np.ones((len(f), 1), np.float32)], axis=1
    )
    density = np.minimum(plan[::step].reshape(-1), 1e6)
    curvature = density if settings.regulariser == "entropic" else (density > 0) / 2
    even = np.arange(len(features)) // k % 2 == 0
    halves = [2 * (1 - density[i]) @ features[i] / len(features) for i in (even, ~even)]
    weighted = features * curvature[:, None].astype(np.float32)
    hessian = (weighted.T @ features).astype(np.float64) / len(features) / trained.scale.epsilon
    ridge = 1e-4 * np.trace(hessian) / len(hessian) + 1e-12
    newton = np.linalg.solve(hessian + ridge * np.eye(len(hessian)), halves[0])
    return abs(float(halves[1] @ newton)) / 2 / trained.scale.deviation


def potential_sum(
    problem: Problem, settings: TransportSettings, trained: Trained, pairs: Pairs
) -> np.ndarray:
    """g(s,a) + f(s,a') on pairs, (n, k)."""
    inputs = _pair_inputs(problem, pairs, slice(None))
    g, f = (_network(trained.potentials, i, x) for i, x in enumerate(inputs))
    if settings.potentials == "non_positive":
        offset = trained.scale.mean / trained.scale.deviation / 2
        g, f = (-np.abs(offset + x) - offset for x in (g, f))
    total = g[:, None] + f.reshape(pairs.costs.shape)
    return trained.scale.mean + trained.scale.deviation * total


def _pair_inputs(problem: Problem, pairs: Pairs, part: slice) -> tuple[np.ndarray, np.ndarray]:
    rows = pairs.rows[part]
    return network_inputs(
        problem, problem.states[rows], problem.actions[rows], pairs.random_actions[part]
    )


def _hidden(layers: list[dict[str, np.ndarray]], member: int, inputs: np.ndarray) -> np.ndarray:
    """The last hidden layer, whose linear image the potential is."""
    return forward.hidden(forward.member(layers, member), inputs.astype(np.float64))


def _network(layers: list[dict[str, np.ndarray]], member: int, inputs: np.ndarray) -> np.ndarray:
    """The potential, block by block: hidden layers that stay in the cache are several times faster."""
    weights, bias = layers[-1]["w"][member], layers[-1]["b"][member]
    blocks = [
        _hidden(layers, member, inputs[first : first + BLOCK]) @ weights + bias
        for first in range(0, len(inputs), BLOCK)
    ]
    return np.concatenate(blocks)[:, 0]


def _best_constant(settings: TransportSettings, excess: np.ndarray, epsilon: float) -> float:
    """The constant to add to the potentials that maximises the dual on the given pairs."""
    if settings.regulariser == "quadratic":
        return -tail_threshold(excess, epsilon)
    top = float(excess.max())
    return -top - epsilon * float(np.log(np.exp((excess - top) / epsilon).mean()))


def _penalty_and_plan(
    settings: TransportSettings, excess: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """What the regulariser takes away, its constant restored, and the plan's density (of mean 1 at the optimum)."""
    if settings.regulariser == "quadratic":
        over = np.maximum(excess, 0)
        return over**2 / (4 * epsilon) + epsilon, over / (2 * epsilon)
    exponent = excess / epsilon
    plan = np.exp(np.minimum(exponent, FINITE_ABOVE))
    plan *= 1 + np.maximum(exponent - FINITE_ABOVE, 0)
    return epsilon * (plan - 1), plan


def network_inputs(
    problem: Problem, states: np.ndarray, actions: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows (state, action) for g and (state, random action) for f, float32."""
    width, k = states.shape[1], drawn.shape[1]
    data = np.empty((len(states), width + problem.random.width), np.float32)
    random = np.empty((len(states), k, data.shape[1]), np.float32)
    data[:, :width], random[..., :width] = states, states[:, None]
    data[:, width:], random[..., width:] = map(problem.random.encode, (actions, drawn))
    return data, random.reshape(-1, data.shape[1])
