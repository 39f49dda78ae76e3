"""Entropic transport at anchor states: the actions of near states against random ones, by Sinkhorn's iteration.

The solver is our own: in float64 and batched over anchors. On two cores importing ott-jax alone takes 3.3 s and compiling its
solver 2 s more, for a fifth of a second of work; the tests hold this one against ott-jax and POT.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from rlassay.transport.closed import TransportResult
from rlassay.transport.costs import pair_costs, resolve_cost
from rlassay.transport.problem import ANCHOR_STREAM, Problem, draw_actions
from rlassay.transport.settings import TransportSettings

MAX_ITERATIONS = 2_000
TOLERANCE = 1e-6  # of the marginals, summed over the entries of one
# The largest exponent that scaling factors may carry before they move into the potentials.
ABSORB_AT = 50.0
ANCHOR_BLOCK = 256  # anchors whose distances to the whole pool are held at once


class Solution(NamedTuple):
    """Per problem: the value <C,P> + epsilon KL(P | product) and the error of the marginals."""

    values: np.ndarray
    marginal_error: np.ndarray
    iterations: int


def solve(costs: np.ndarray, epsilon: float) -> Solution:
    """Entropic transport between uniform weights for a batch of cost matrices (problems, n, m).

    Scaling iterations on a kernel whose potentials are held in the log domain: the kernel is the plan itself (times
    n m), so no entry overflows, and large factors are absorbed into the potentials.
    """
    centre = costs.mean(axis=(1, 2), keepdims=True)
    scaled = (costs - centre) / epsilon
    values, errors = np.empty(len(costs)), np.empty(len(costs))
    active = np.arange(len(costs))
    row, column = _first_potentials(scaled)
    iterations = 0
    while len(active):
        row, column, error, used = _iterate(scaled, row, column)
        iterations += used
        done = (error <= TOLERANCE) | (iterations >= MAX_ITERATIONS)
        values[active[done]] = (row.mean(1) + column.mean(1))[done]
        errors[active[done]] = error[done]
        active, scaled, row, column = (part[~done] for part in (active, scaled, row, column))
    return Solution(epsilon * values + centre[:, 0, 0], errors, iterations)


def _first_potentials(scaled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    row = np.zeros(scaled.shape[:2])
    column = _soft_minimum(scaled, axis=1)
    return row, column


def _soft_minimum(values: np.ndarray, axis: int) -> np.ndarray:
    """-log mean exp(-values), without overflow."""
    lowest = values.min(axis=axis, keepdims=True)
    return np.squeeze(lowest, axis) - np.log(np.exp(lowest - values).mean(axis=axis))


def _iterate(scaled: np.ndarray, row: np.ndarray, column: np.ndarray, rounds: int = 20):
    """Some rounds of scaling; ends with the columns exact, and measures the rows' error there."""
    row = _soft_minimum(scaled - column[:, None, :], axis=2)
    column = _soft_minimum(scaled - row[:, :, None], axis=1)
    kernel = np.exp(row[:, :, None] + column[:, None, :] - scaled)
    transposed = np.ascontiguousarray(np.swapaxes(kernel, 1, 2))
    n, m = kernel.shape[1:]
    v = np.ones((len(kernel), m, 1))
    u = np.ones((len(kernel), n, 1))
    used = 0
    while used < rounds:
        used += 1
        u = m / (kernel @ v)
        v = n / (transposed @ u)
        if max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > ABSORB_AT:
            break
    error = np.abs(u * (kernel @ v) / m - 1).mean(axis=(1, 2))
    return row + np.log(u[..., 0]), column + np.log(v[..., 0]), error, used


def sinkhorn(
    problem: Problem, settings: TransportSettings, epsilon: float, *, seed: int, member: int
) -> TransportResult:
    """The mean over anchors of the entropic transport value between near data actions and random ones."""
    cost = resolve_cost(settings)
    rng = np.random.default_rng([seed, ANCHOR_STREAM])
    pool, anchors = _pool_and_anchors(problem, settings, rng)
    states = np.ascontiguousarray(problem.states[pool], np.float32)
    near, distances = nearest_rows(
        states, problem.episodes[pool], anchors, settings.neighbours, settings.per_episode
    )
    costs = _anchor_costs(problem, settings, states[anchors], pool[near], rng, member)
    solution = solve(costs, epsilon)
    integrand = cost.sign * solution.values
    value = float(integrand.mean())
    error = float(solution.marginal_error.max())
    diagnosis = {
        "neighbours": near.shape[1],
        "radius": float(np.median(distances[:, -1])),
        "marginal_error": error,
        "iterations": solution.iterations,
        "product": cost.sign * float(costs.mean()),
        "literal": value - cost.sign * epsilon,
    }
    return TransportResult(
        value=value,
        estimator="sinkhorn",
        cost=settings.cost,
        epsilon=epsilon,
        n=len(anchors),
        converged=error <= TOLERANCE,
        integrand=integrand,
        rows=pool[anchors],
        diagnosis=diagnosis,
    )


def _pool_and_anchors(problem: Problem, settings: TransportSettings, rng: np.random.Generator):
    """Rows of the pool, in ascending order, and the positions of the anchors in it."""
    evaluated = problem.evaluation_rows
    chosen = rng.choice(evaluated, min(settings.anchors, len(evaluated)), replace=False)
    size = min(max(settings.neighbour_pool, len(chosen)), len(problem.states))
    others = rng.choice(len(problem.states), size, replace=False)
    others = others[~np.isin(others, chosen)][: size - len(chosen)]
    pool = np.sort(np.concatenate([chosen, others]))
    return pool, np.searchsorted(pool, np.sort(chosen))


def _anchor_costs(problem, settings, states, near, rng, member) -> np.ndarray:
    """Cost matrices (anchors, neighbours, neighbours), with Q at the anchor for both actions."""
    cost = resolve_cost(settings)
    count = near.shape[1]
    random = draw_actions(rng, settings, near.shape, problem.low, problem.high)
    actions = problem.actions[near]
    repeated = np.repeat(states, count, axis=0)
    q_random = problem.values(member, repeated, random.reshape(len(repeated), -1))
    q_data = problem.values(member, repeated, actions.reshape(len(repeated), -1))
    parts = (
        q_data.reshape(-1, count, 1),
        q_random.reshape(-1, 1, count),
        actions[:, :, None],
        random[:, None, :],
    )
    blocks = [
        pair_costs(cost, *[part[first : first + ANCHOR_BLOCK] for part in parts])
        for first in range(0, len(near), ANCHOR_BLOCK)
    ]
    return np.concatenate(blocks)


# -- nearest states, with at most a few from one episode ------------------------------------------------------------


def nearest_rows(
    states: np.ndarray, episodes: np.ndarray, anchors: np.ndarray, count: int, per_episode: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest entries of each anchor among `states`, itself first, and their distances.

    At most `per_episode` come from one episode (its own included), because successive states nearly repeat the action.
    Where episodes are too few for `count`, every anchor gets as many as there are.
    """
    available = int(np.minimum(np.unique(episodes, return_counts=True)[1], per_episode).sum())
    count = min(count, available)
    found = np.empty((len(anchors), count), np.int64)
    distances = np.empty((len(anchors), count))
    for first in range(0, len(anchors), ANCHOR_BLOCK):
        part = slice(first, first + ANCHOR_BLOCK)
        found[part] = _nearest_in_block(states, episodes, anchors[part], count, per_episode)
        offsets = states[found[part]] - states[anchors[part]][:, None]
        distances[part] = np.sqrt((offsets.astype(np.float64) ** 2).sum(-1))
    return found, distances


def _nearest_in_block(states, episodes, anchors, count, per_episode) -> np.ndarray:
    """Search among ever more candidates until every anchor has its `count`."""
    found = np.empty((len(anchors), count), np.int64)
    missing = np.arange(len(anchors))
    candidates = 8 * count
    while len(missing):
        candidates = min(candidates, len(states))
        nearest = _candidates(states, anchors[missing], candidates)
        kept = _within_cap(episodes[nearest], per_episode)
        enough = kept.sum(axis=1) >= count
        chosen = kept[enough] & (np.cumsum(kept[enough], axis=1) <= count)
        found[missing[enough]] = nearest[enough][chosen].reshape(-1, count)
        missing = missing[~enough]
        candidates *= 8
    return found


def _within_cap(episodes: np.ndarray, per_episode: int) -> np.ndarray:
    """True for the first `per_episode` entries of every episode in each row."""
    order = np.argsort(episodes, axis=1, kind="stable")
    in_order = np.take_along_axis(episodes, order, axis=1)
    columns = np.broadcast_to(np.arange(episodes.shape[1]), episodes.shape)
    new = np.ones(episodes.shape, bool)
    new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    run_start = np.maximum.accumulate(np.where(new, columns, 0), axis=1)
    kept = np.empty(episodes.shape, bool)
    np.put_along_axis(kept, order, columns - run_start < per_episode, axis=1)
    return kept


def _candidates(states: np.ndarray, anchors: np.ndarray, count: int) -> np.ndarray:
    """The `count` nearest entries of each anchor, nearest first; the anchor itself leads."""
    padded = np.concatenate([anchors, np.repeat(anchors[:1], ANCHOR_BLOCK - len(anchors))])
    return np.asarray(_search()(states, padded, count))[: len(anchors)]


@functools.cache
def _search():
    import jax
    import jax.numpy as jnp

    def search(states, anchors, count):
        squares = (states**2).sum(-1)
        closeness = 2 * states[anchors] @ states.T - squares
        closeness = closeness.at[jnp.arange(len(anchors)), anchors].set(jnp.inf)
        return jax.lax.top_k(closeness, count)[1]

    return jax.jit(search, static_argnums=2)
