"""Entropic transport at anchor states, by Sinkhorn's iteration: the actions of near states against random ones, or, of
discrete actions, the behaviour's fitted law against all of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlassay.kernel.choices import blocks
from rlassay.transport.closed import TransportResult
from rlassay.transport.costs import pair_costs, resolve_cost
from rlassay.transport.entropic import TOLERANCE, Solution, solve
from rlassay.transport.problem import ANCHOR_STREAM, Problem
from rlassay.transport.random_policy import Uniform, draw_actions
from rlassay.transport.settings import TransportSettings

LAW_TOLERANCE = (
    1e-9  # of the marginals between laws: small problems are solved to the digits of their values
)
ANCHOR_BLOCK = 256  # anchors whose distances to the whole pool are held at once


def sinkhorn(
    problem: Problem, settings: TransportSettings, epsilon: float, *, seed: int, member: int
) -> TransportResult:
    """The mean over anchors of the entropic transport value between near data actions and random ones."""
    rng = np.random.default_rng([seed, ANCHOR_STREAM])
    pool, anchors = _pool_and_anchors(problem, settings, rng)
    states = np.ascontiguousarray(problem.states[pool], np.float32)
    near, distances = nearest_rows(
        states, problem.episodes[pool], anchors, settings.neighbours, settings.per_episode
    )
    costs = _anchor_costs(problem, settings, states[anchors], pool[near], rng, member)
    found = {
        "neighbours": near.shape[1],
        "radius": float(np.median(distances[:, -1])),
        "product": float(costs.mean()),
    }
    return _result(settings, epsilon, solve(costs, epsilon), pool[anchors], found, TOLERANCE)


def between_laws(
    problem: Problem, settings: TransportSettings, epsilon: float, *, seed: int, member: int
) -> TransportResult:
    """The mean over anchors of the entropic transport value between the behaviour's law and the uniform one."""
    assert problem.choices is not None
    rng = np.random.default_rng([seed, ANCHOR_STREAM])
    count = min(settings.anchors, len(problem.evaluation_rows))
    anchors = np.sort(rng.choice(problem.evaluation_rows, count, replace=False))
    size = problem.choices.numbers.count
    parts = [
        _solve_laws(problem, settings, epsilon, anchors[part], member)
        for part in blocks(count, size * size)
    ]
    solutions, products = zip(*parts, strict=True)
    found = {"actions": size, "product": float(np.concatenate(products).mean())}
    joined = Solution(
        np.concatenate([each.values for each in solutions]),
        np.concatenate([each.marginal_error for each in solutions]),
        sum(each.iterations for each in solutions),
    )
    return _result(settings, epsilon, joined, anchors, found, LAW_TOLERANCE)


def _solve_laws(
    problem: Problem, settings: TransportSettings, epsilon: float, rows: np.ndarray, member: int
) -> tuple[Solution, np.ndarray]:
    """The solution at some anchors, and the cost of the product of both laws at each."""
    assert problem.choices is not None
    states = problem.states[rows]
    q, law = (each(member, states) for each in (problem.choices.values, problem.choices.law))
    numbers = Uniform(problem.choices.numbers).every[:, None]
    values = q[:, :, None], q[:, None, :]
    costs = pair_costs(problem.cost(settings), *values, numbers[:, None], numbers[None, :])
    return solve(costs, epsilon, law, LAW_TOLERANCE), (law * costs.mean(axis=2)).sum(axis=1)


def _result(
    settings: TransportSettings,
    epsilon: float,
    solution: Solution,
    rows: np.ndarray,
    found: Mapping[str, Any],
    tolerance: float,
) -> TransportResult:
    sign = resolve_cost(settings).sign
    integrand = sign * solution.values
    value = float(integrand.mean())
    error = float(solution.marginal_error.max())
    diagnosis = {
        **found,
        "product": sign * found["product"],
        "marginal_error": error,
        "iterations": solution.iterations,
        "literal": value - sign * epsilon,
    }
    return TransportResult(
        value=value,
        estimator="sinkhorn",
        cost=settings.cost,
        epsilon=epsilon,
        n=len(rows),
        converged=error <= tolerance,
        integrand=integrand,
        rows=rows,
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
