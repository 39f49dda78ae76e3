"""The training loop of everything that learns here: `fit` runs an update function many times.

A learner is a function `step(state, data, inputs) -> (state, info)`; `inputs` holds the row numbers of one batch
and a random key. The loop is compiled in chunks of one `lax.scan` (the only one of the project), so that progress
can be shown, checkpoints written and Ctrl-C heard between chunks. Rows and keys are a function of (seed, step):
a run resumed at a chunk border is bit-equal to one that was never stopped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Step = Callable[[Any, Any, Any], tuple[Any, dict[str, jax.Array]]]
OnChunk = Callable[[int, Any, dict[str, np.ndarray]], None]


class Inputs(NamedTuple):
    """What one update draws: the rows of its batch and a random key."""

    rows: jax.Array
    key: jax.Array


@functools.partial(jax.jit, static_argnames="step", donate_argnames="state")
def run_steps(step: Step, state: Any, data: Any, inputs: Any) -> tuple[Any, dict[str, jax.Array]]:
    """Apply `step` once per leading entry of `inputs`; the infos come back stacked."""
    return jax.lax.scan(lambda carry, x: step(carry, data, x), state, inputs)


@functools.partial(jax.jit, static_argnames="step", donate_argnames="state")
def run_steps_per_seed(step: Step, state: Any, data: Any, inputs: Any):
    """The same for several seeds at once: state and inputs have a leading seed axis, the data is shared."""
    return jax.vmap(lambda s, x: run_steps(step, s, data, x))(state, inputs)


def fit(
    step: Step,
    state: Any,
    data: Any,
    *,
    rows: int,
    steps: int,
    batch_size: int,
    seeds: Sequence[int],
    start: int = 0,
    chunk: int = 500,
    probabilities: np.ndarray | None = None,
    on_chunk: OnChunk | None = None,
) -> Any:
    """Run `step` from update `start` to `steps` and return the final state.

    `state` has a leading axis of length `len(seeds)`. `rows` is the number of rows batches are drawn from, uniformly
    or with `probabilities`. `on_chunk(done, state, info)` sees the mean of each info over the chunk, a value a seed.
    """
    cumulative = None if probabilities is None else np.cumsum(probabilities / probabilities.sum())
    for first in range(start, steps, chunk):
        count = min(chunk, steps - first)
        drawn = [draw_inputs(seed, first, count, batch_size, rows, cumulative) for seed in seeds]
        state, info = _run_seeds(step, state, data, drawn)
        if on_chunk is not None:
            on_chunk(first + count, state, _chunk_means(info))
    return state


def _run_seeds(step: Step, state: Any, data: Any, drawn: list[Inputs]) -> tuple[Any, Any]:
    """One chunk for every seed: vmapped on accelerators, one program a seed on CPU.

    On CPU a batch axis costs: three vmapped seeds took 4.5 times one seed. Separate programs are dispatched before any
    is waited for, so they share the cores, and a seed's numbers do not depend on how many run beside it.
    """
    if jax.default_backend() != "cpu":
        return run_steps_per_seed(step, state, data, stack(drawn))
    runs = [run_steps(step, unstack(state, k), data, inputs) for k, inputs in enumerate(drawn)]
    if len(runs) == 1:
        return jax.tree.map(lambda leaf: leaf[None], runs[0])
    states, infos = zip(*runs, strict=True)
    return stack(states), stack(infos)


def draw_inputs(
    seed: int, first: int, count: int, batch_size: int, rows: int, cumulative: np.ndarray | None
) -> Inputs:
    """Rows and keys of updates `first` to `first + count`, a function of the arguments alone."""
    rng = np.random.default_rng([seed, first])
    if cumulative is None:
        drawn = rng.integers(0, rows, (count, batch_size), dtype=np.int32)
    else:
        drawn = np.searchsorted(cumulative, rng.random((count, batch_size)), side="right")
        drawn = np.minimum(drawn, rows - 1).astype(np.int32)
    keys = rng.integers(0, 2**32, (count, 2), dtype=np.uint32)
    return Inputs(rows=jnp.asarray(drawn), key=jnp.asarray(keys))


def stack(trees: Sequence[Any]) -> Any:
    """Join equal pytrees along a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def unstack(tree: Any, index: int) -> Any:
    """One member of a stacked pytree."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _chunk_means(info: dict[str, jax.Array]) -> dict[str, np.ndarray]:
    return {name: np.asarray(values, np.float64).mean(axis=-1) for name, values in info.items()}
