"""Algorithm 1: the dual of conditional transport with neural potentials, trained, then evaluated on held-out states.

Potentials sum to u = mean(c) + sd(c) * (network(s,a) + network(s,a')), an exact reparameterisation, so training works on
standardised costs whatever the scale of the values. The critic is frozen, so its values and the costs of a chunk of
batches are computed at once, before the chunk, and the compiled loop holds the potentials alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.kernel import fitting, nets
from rlassay.transport.closed import TransportResult
from rlassay.transport.costs import pair_costs
from rlassay.transport.held_out import Scale, Trained, evaluate, units_of
from rlassay.transport.problem import (
    CALIBRATION_STREAM,
    NETWORK_STREAM,
    TRAINING_STREAM,
    Pairs,
    Problem,
    data_values,
    draw_pairs,
    random_values,
)
from rlassay.transport.settings import TransportSettings

CHUNK = 500
# Of its norm: one spike of the exponential would stop Adam for thousands of steps.
LARGEST_GRADIENT = 1.0
LINEAR_ABOVE = 20.0  # training: the exponential goes on as its tangent from here


class DualState(NamedTuple):
    """Both potentials stacked in one leaf, Adam's state, epsilon and offset in units of sd(c)."""

    potentials: nets.Params
    optimiser: Any
    epsilon: jax.Array
    offset: jax.Array


class DualBatch(NamedTuple):
    """Inputs of one update: states (batch, d), actions with bounds +-1, (batch, d) and (batch, k, d), and
    standardised costs (batch, k)."""

    states: jax.Array
    actions: jax.Array
    random: jax.Array
    costs: jax.Array


def dual(
    problem: Problem,
    settings: TransportSettings,
    pairs: Sequence[Pairs],
    epsilons: Sequence[float],
    *,
    seeds: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
) -> list[TransportResult]:
    """Train the potentials of every seed and evaluate each on its own `pairs`; `on_progress(step)` is called now and then."""
    calibration = [_calibration(problem, settings, seed, k) for k, seed in enumerate(seeds)]
    scales = [
        units_of(settings, part.costs, epsilon)
        for part, epsilon in zip(calibration, epsilons, strict=True)
    ]
    state = fitting.stack(
        [_initial(problem, settings, *one) for one in zip(scales, seeds, strict=True)]
    )
    history: list[tuple[int, np.ndarray]] = []

    def on_chunk(done: int, _: Any, info: dict[str, np.ndarray]) -> None:
        history.append((done, info["value"]))
        if on_progress:
            on_progress(done)

    state = fitting.fit(
        _make_step(
            settings.regulariser, settings.potentials, settings.learning_rate, settings.steps
        ),
        state,
        None,
        rows=len(problem.training_rows),
        steps=settings.steps,
        batch_size=settings.batch_size,
        seeds=seeds,
        chunk=max(1, min(CHUNK, settings.steps // 20)),
        draw=functools.partial(_draw_batches, problem, settings, scales),
        on_chunk=on_chunk,
    )
    potentials = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), state.potentials)
    return [
        evaluate(
            problem,
            settings,
            Trained(fitting.unstack(potentials, k), scales[k], _curve(history, k)),
            calibration[k],
            pairs[k],
        )
        for k in range(len(seeds))
    ]


# -- training ----------------------------------------------------------------------------------------------------


def _calibration(problem: Problem, settings: TransportSettings, seed: int, member: int) -> Pairs:
    """Training pairs that fix the units of training and, after it, the potentials' common constant."""
    rng = np.random.default_rng([seed, CALIBRATION_STREAM])
    rows = rng.choice(problem.training_rows, min(settings.states, len(problem.training_rows)))
    return draw_pairs(problem, settings, rows, seed=seed, member=member, stream=CALIBRATION_STREAM)


def _initial(problem: Problem, settings: TransportSettings, scale: Scale, seed: int) -> DualState:
    rng = np.random.default_rng([seed, NETWORK_STREAM])
    inputs = problem.states.shape[1] + problem.random.width
    potentials = nets.init_mlp(rng, (inputs, settings.hidden, 1), ensemble=2)
    return DualState(
        potentials,
        _optimiser(settings.learning_rate, settings.steps).init(potentials),
        jnp.float32(scale.epsilon / scale.deviation),
        jnp.float32(scale.mean / scale.deviation / 2),
    )


@functools.lru_cache
def _optimiser(learning_rate: float, steps: int) -> optax.GradientTransformation:
    adam = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    return optax.flatten(optax.chain(optax.clip_by_global_norm(LARGEST_GRADIENT), adam))


def _draw_batches(
    problem: Problem,
    settings: TransportSettings,
    scales: Sequence[Scale],
    member: int,
    seed: int,
    first: int,
    count: int,
) -> DualBatch:
    """The batches of updates `first` to `first + count`, a function of the arguments alone."""
    cost = problem.cost(settings)
    rng = np.random.default_rng([seed, TRAINING_STREAM, first])
    total = count * settings.batch_size
    rows = problem.training_rows[rng.integers(0, len(problem.training_rows), total)]
    states, actions = problem.states.take(rows, axis=0), problem.actions.take(rows, axis=0)
    drawn = problem.random.draw(rng, settings, (total, settings.k))
    q_random = random_values(problem, member, states, drawn)
    q_data = data_values(problem, cost, member, states, actions)
    costs = pair_costs(cost, q_data[:, None], q_random, actions[:, None], drawn)
    standardised = (costs - scales[member].mean) / scales[member].deviation
    columns = (
        states,
        problem.random.encode(actions),
        problem.random.encode(drawn),
        standardised.astype(np.float32),
    )
    shape = (count, settings.batch_size)
    return DualBatch(
        *[jax.device_put(column.reshape(*shape, *column.shape[1:])) for column in columns]
    )


@functools.lru_cache
def _make_step(regulariser: str, potentials: str, learning_rate: float, steps: int):
    """One ascent step of the dual in units of sd(c); cached so that equal settings compile once."""
    optimiser = _optimiser(learning_rate, steps)

    def loss(params: nets.Params, state: DualState, batch: DualBatch):
        g, f = _outputs(params, batch)
        if potentials == "non_positive":
            g, f = (-jnp.abs(state.offset + x) - state.offset for x in (g, f))
        total = g[:, None] + f
        excess = total - batch.costs
        value = total - _PENALTIES[regulariser](excess, state.epsilon)
        return -value.mean()

    def step(state: DualState, data: None, batch: DualBatch):
        negative, gradient = jax.value_and_grad(loss)(state.potentials, state, batch)
        change, optimiser_state = optimiser.update(gradient, state.optimiser)
        state = state._replace(
            potentials=optax.apply_updates(state.potentials, change), optimiser=optimiser_state
        )
        return state, {"value": -negative}

    return step


def _outputs(params: nets.Params, batch: DualBatch) -> tuple[jax.Array, jax.Array]:
    """Network outputs (batch,) and (batch, k); for k = 1 both run as one batched product."""
    if batch.costs.shape[1] == 1:
        actions = jnp.stack([batch.actions, batch.random[:, 0]])
        g, f = nets.scalar(params, jnp.stack([batch.states, batch.states]), actions)
    else:
        repeated = jnp.broadcast_to(
            batch.states[:, None], (*batch.costs.shape, batch.states.shape[1])
        )
        g = nets.scalar(fitting.unstack(params, 0), batch.states, batch.actions)
        f = nets.scalar(fitting.unstack(params, 1), repeated, batch.random)
    return g, f.reshape(batch.costs.shape)


def _entropic_penalty(excess: jax.Array, epsilon: jax.Array) -> jax.Array:
    exponent = excess / epsilon
    curved = jnp.exp(jnp.minimum(exponent, LINEAR_ABOVE))
    return epsilon * (curved * (1 + jnp.maximum(exponent - LINEAR_ABOVE, 0)) - 1)


def _quadratic_penalty(excess: jax.Array, epsilon: jax.Array) -> jax.Array:
    return jnp.maximum(excess, 0) ** 2 / (4 * epsilon) + epsilon


_PENALTIES = {"entropic": _entropic_penalty, "quadratic": _quadratic_penalty}


def _curve(history: list[tuple[int, np.ndarray]], member: int) -> dict[str, list]:
    """Training values by step, in units of sd(c) around the mean."""
    steps, values = zip(*history, strict=True)
    return {"step": list(steps), "value": [float(value[member]) for value in values]}
