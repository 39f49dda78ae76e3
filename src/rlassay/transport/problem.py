"""One transport problem: data, critic and random policy; and the evaluated pairs drawn from it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay import runtime
from rlassay.data.discrete import ActionNumbers
from rlassay.errors import SettingsError
from rlassay.kernel.choices import blocks
from rlassay.transport.costs import Cost, pair_costs, resolve_cost
from rlassay.transport.random_policy import Box, RandomPolicy, Uniform
from rlassay.transport.settings import TransportSettings

QApply = Callable[[Any, Any, Any], Any]

# Streams of random numbers: no two uses of one seed share one.
ROWS_STREAM, PAIRS_STREAM, ANCHOR_STREAM, CALIBRATION_STREAM, TRAINING_STREAM, NETWORK_STREAM = (
    range(11, 17)
)
BLOCK = 4_096  # rows per call of the critic: one compiled shape, and hidden layers that stay in the cache


@dataclass(frozen=True)
class Choices:
    """Discrete actions: their numbers, and what the critic says of all of them at once."""

    numbers: ActionNumbers
    values: Callable[[int, np.ndarray], np.ndarray]  # (member, states) -> Q of every action
    law: Callable[[int, np.ndarray], np.ndarray]  # likewise: the behaviour's probabilities


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
    choices: Choices | None = None  # where actions are discrete

    @property
    def random(self) -> RandomPolicy:
        """Whom the behaviour is held against."""
        return Box(self.low, self.high) if self.choices is None else Uniform(self.choices.numbers)

    def cost(self, settings: TransportSettings) -> Cost:
        """The cost by name, with the distance between actions of this kind."""
        return resolve_cost(settings, None if self.choices is None else self.choices.numbers)

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
    drawn = problem.random.against(rng, settings, len(rows))
    states, actions = problem.states[rows], problem.actions[rows]
    q_data = problem.values(member, states, actions)
    q_random = random_values(problem, member, states, drawn)
    costs = pair_costs(problem.cost(settings), q_data[:, None], q_random, actions[:, None], drawn)
    return Pairs(rows, drawn, q_data, q_random, costs)


def random_values(
    problem: Problem, member: int, states: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Q(s, a') for states (n, d) and actions (n, k, d)."""
    k = drawn.shape[1]
    if (choices := problem.choices) is not None:
        found = np.empty((len(states), k))
        for part in blocks(len(states), choices.numbers.count):
            places = drawn[part, :, 0].astype(np.int64) - choices.numbers.first
            found[part] = np.take_along_axis(choices.values(member, states[part]), places, axis=1)
        return found
    repeated = states if k == 1 else np.repeat(states, k, axis=0)
    return problem.values(member, repeated, drawn.reshape(len(repeated), -1)).reshape(-1, k)


def data_values(
    problem: Problem, cost: Cost, member: int, states: np.ndarray, actions: np.ndarray
) -> np.ndarray:
    """Q(s, a) where the cost reads it, else zeros: the frozen critic is the dearest part of a batch."""
    if not cost.reads_q_data:
        return np.zeros(len(states))
    return problem.values(member, states, actions)


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
