"""One transport problem: data, critic and random policy; and the evaluated pairs drawn from it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay import runtime
from rlassay.errors import SettingsError
from rlassay.transport.costs import Cost, pair_costs, resolve_cost
from rlassay.transport.settings import TransportSettings

QApply = Callable[[Any, Any, Any], Any]

# Streams of random numbers: no two uses of one seed share one.
ROWS_STREAM, PAIRS_STREAM, ANCHOR_STREAM, CALIBRATION_STREAM, TRAINING_STREAM, NETWORK_STREAM = (
    range(11, 17)
)
BLOCK = 4_096  # rows per call of the critic: one compiled shape, and hidden layers that stay in the cache


@dataclass(frozen=True)
class Problem:
    """What the estimators read. `q_apply(params, states, actions)` is a module-level JAX function.

    `q_params` is a pytree whose leaves have a leading axis, one entry a seed. The potentials learn from
    `training_rows`; values are computed on `evaluation_rows`.
    """

    states: np.ndarray  # (rows, dimensions), standardised as the critic expects
    actions: np.ndarray  # (rows, dimensions)
    episodes: np.ndarray  # (rows,), the episode number of each
    low: np.ndarray  # (dimensions,), bounds of the random policy
    high: np.ndarray
    q_apply: QApply
    q_params: Any
    training_rows: np.ndarray
    evaluation_rows: np.ndarray
    # the same critic without JAX, (member, states, actions) -> values; taken instead where there is one
    numpy_values: Callable[[int, np.ndarray, np.ndarray], np.ndarray] | None = None

    def values(self, member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Q of the critic of seed number `member`, float64, over the leading axes of the arguments."""
        if self.numpy_values is not None:
            return self.numpy_values(member, states, actions)
        import jax

        params = jax.tree.map(lambda leaf: np.asarray(leaf)[member], self.q_params)
        # The last lane: it has the least to train, and batches are drawn while that goes on.
        params = jax.device_put(params, runtime.lanes()[-1])
        return _in_blocks(functools.partial(_apply(), self.q_apply, params), states, actions)


@dataclass(frozen=True)
class Pairs:
    """Evaluated states with `k` fresh random actions each: arrays (n,), (n, k) and (n, k, dimensions)."""

    rows: np.ndarray
    random_actions: np.ndarray
    q_data: np.ndarray
    q_random: np.ndarray
    costs: np.ndarray


def draw_actions(
    rng: np.random.Generator,
    settings: TransportSettings,
    shape: tuple[int, ...],
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Random actions of shape (*shape, dimensions), float32.

    `uniform` on the bounds; `clipped_normal` is centre + half range * clip(N(0,1), -1, 1), the paper's for bounds of
    +-1 and scaled to any others.
    """
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    if settings.random_policy == "uniform":
        drawn = rng.random((*shape, len(low)), dtype=np.float32)
        drawn *= high - low
        drawn += low
    else:
        drawn = rng.standard_normal((*shape, len(low)), dtype=np.float32)
        np.clip(drawn, -1, 1, out=drawn)
        drawn *= (high - low) / 2
        drawn += (low + high) / 2
    return np.clip(drawn, low, high, out=drawn)  # rounding must not leave the bounds


def evaluated_rows(problem: Problem, settings: TransportSettings, seed: int) -> np.ndarray:
    """At most `settings.states` of the evaluation rows, in ascending order."""
    rows = problem.evaluation_rows
    if len(rows) <= settings.states:
        return np.sort(rows)
    rng = np.random.default_rng([seed, ROWS_STREAM])
    return np.sort(rng.choice(rows, settings.states, replace=False))


def draw_pairs(
    problem: Problem,
    settings: TransportSettings,
    rows: np.ndarray,
    *,
    seed: int,
    member: int,
    stream: int = PAIRS_STREAM,
) -> Pairs:
    """The given rows with fresh random actions, their values and costs."""
    if len(rows) == 0:
        raise SettingsError("there is no state to evaluate", remedy="hold out at least one episode")
    rng = np.random.default_rng([seed, stream])
    drawn = draw_actions(rng, settings, (len(rows), settings.k), problem.low, problem.high)
    states, actions = problem.states[rows], problem.actions[rows]
    q_data = problem.values(member, states, actions)
    q_random = random_values(problem, member, states, drawn)
    costs = pair_costs(resolve_cost(settings), q_data[:, None], q_random, actions[:, None], drawn)
    return Pairs(rows, drawn, q_data, q_random, costs)


def random_values(
    problem: Problem, member: int, states: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Q(s, a') for states (n, d) and actions (n, k, d)."""
    k = drawn.shape[1]
    repeated = states if k == 1 else np.repeat(states, k, axis=0)
    return problem.values(member, repeated, drawn.reshape(len(repeated), -1)).reshape(-1, k)


def data_values(
    problem: Problem, cost: Cost, member: int, states: np.ndarray, actions: np.ndarray
) -> np.ndarray:
    """Q(s, a) where the cost reads it, else zeros: the frozen critic is the dearest part of a batch."""
    if not cost.reads_q_data:
        return np.zeros(len(states))
    return problem.values(member, states, actions)


def unit_actions(problem: Problem, actions: np.ndarray) -> np.ndarray:
    """Actions scaled so that the bounds are +-1, the form in which the potentials read them."""
    low, high = np.asarray(problem.low, np.float32), np.asarray(problem.high, np.float32)
    half = np.where(high > low, (high - low) / 2, np.float32(1))
    return (actions - (low + high) / 2) / half


@functools.cache
def _apply():
    import jax

    return jax.jit(lambda q_apply, params, s, a: q_apply(params, s, a), static_argnums=0)


def _in_blocks(function, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Apply `function` to equal blocks, the last one padded; all are dispatched before any is waited for."""
    count = len(states)
    size = min(BLOCK, 1 << max(count - 1, 0).bit_length())
    results = []
    for first in range(0, count, size):
        block = [np.asarray(part[first : first + size], np.float32) for part in (states, actions)]
        if short := size - len(block[0]):
            block = [np.pad(part, ((0, short), (0, 0))) for part in block]
        results.append(function(*block))
    return np.concatenate([np.asarray(part, np.float64) for part in results])[:count]
