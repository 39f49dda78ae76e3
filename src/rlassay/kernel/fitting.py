"""The training loop of everything that learns here: `fit` runs an update function many times.

A learner is a function `step(state, data, inputs) -> (state, info)`; `inputs` holds the row numbers of one batch
and a random key. The loop is compiled in chunks of one `lax.scan` (no other module has one), so that progress
can be shown, checkpoints written and Ctrl-C heard between chunks. Rows and keys are a function of (seed, step):
a run resumed at a chunk border is bit-equal to one that was never stopped.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rlassay import runtime

Step = Callable[[Any, Any, Any], tuple[Any, dict[str, jax.Array]]]
Draw = Callable[[int, int, int, int], Any]
Gather = Callable[[int, np.ndarray], Any]
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
    draw: Draw | None = None,
    gather: Gather | None = None,
    at_once: int | None = None,
    on_chunk: OnChunk | None = None,
) -> Any:
    """Run `step` from update `start` to `steps` and return the final state.

    `state` has a leading axis of length `len(seeds)`. `rows` is the number of rows batches are drawn from, uniformly
    or with `probabilities`. `on_chunk(done, state, info)` sees the mean of each info over the chunk, a value a seed.
    Inputs other than row numbers and keys come from `draw(member, seed, first, count)`, a pure function, or from
    `gather(member, rows)`, which turns the row numbers (steps, batch) into batches; with `at_once` it does so for that
    many steps of a chunk at a time. The next inputs are made while these are used.
    """
    cumulative = None if probabilities is None else np.cumsum(probabilities / probabilities.sum())
    run = _vmapped if jax.default_backend() != "cpu" else _side_by_side
    if run is _side_by_side:
        data = [jax.device_put(data, lane) for lane in runtime.lanes()[: len(seeds)]]

    def drawn(part: _Part) -> list[Any]:
        first, count = part.first, part.count
        if draw is not None:
            return [draw(member, seed, first, count) for member, seed in enumerate(seeds)]
        found = [draw_inputs(seed, first, count, batch_size, rows, cumulative) for seed in seeds]
        if gather is None:
            return found
        numbers = [np.asarray(each.rows)[part.low : part.high] for each in found]
        return [gather(member, each) for member, each in enumerate(numbers)]

    infos = []
    for part, inputs in _one_ahead(drawn, _parts(start, steps, chunk, at_once or chunk)):
        state, info = run(step, state, data, inputs)
        infos.append(info)
        if part.high == part.count:
            if on_chunk is not None:
                on_chunk(part.first + part.count, state, _chunk_means(infos))
            infos = []
    return state


class _Part(NamedTuple):
    """Steps `low` to `high` of the chunk of `count` steps that begins at `first`."""

    first: int
    count: int
    low: int
    high: int


def _parts(start: int, steps: int, chunk: int, at_once: int) -> list[_Part]:
    found = []
    for first in range(start, steps, chunk):
        count = min(chunk, steps - first)
        borders = (*range(0, count, at_once), count)
        found += [_Part(first, count, *part) for part in itertools.pairwise(borders)]
    return found


def _one_ahead(
    function: Callable[[_Part], Any], arguments: Sequence[_Part]
) -> Iterator[tuple[_Part, Any]]:
    """Pairs of argument and result; while the caller works on one, the next is computed in another thread."""
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(function, argument) for argument in arguments[:1]]
        for index, argument in enumerate(arguments):
            result = coming.pop().result()
            coming = [pool.submit(function, after) for after in arguments[index + 1 : index + 2]]
            yield argument, result


def _vmapped(step: Step, state: Any, data: Any, drawn: list[Any]) -> tuple[Any, Any]:
    return run_steps_per_seed(step, state, data, stack(drawn))


def _side_by_side(step: Step, state: Any, copies: list[Any], drawn: list[Any]) -> tuple[Any, Any]:
    """One program a seed, dealt out to the lanes, each lane in its own thread, so that they share the cores.

    On CPU a batch axis costs: three vmapped seeds took 4.5 times one seed. This way a seed's numbers do not depend on
    how many run beside it. Leaves are taken apart and joined in NumPy, which compiles nothing.
    """
    state = jax.tree.map(np.asarray, state)
    lanes = len(copies)

    def run(lane: int) -> list[tuple[Any, Any]]:
        done = []
        for member in range(lane, len(drawn), lanes):
            own = unstack(state, member), drawn[member]
            mine, inputs = jax.device_put(own, runtime.lanes()[lane])
            done.append(jax.block_until_ready(run_steps(step, mine, copies[lane], inputs)))
        return done

    with ThreadPoolExecutor(lanes) as pool:
        by_lane = list(pool.map(run, range(lanes)))
    runs = [by_lane[member % lanes][member // lanes] for member in range(len(drawn))]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *runs)


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
    # No copy on CPU, where jnp.asarray would compile one.
    return Inputs(rows=jax.device_put(drawn), key=jax.device_put(keys))


def mean_over_parts(function: Callable[..., Any], columns: Sequence[jax.Array], parts: int) -> Any:
    """Mean of `function(*part)` over equal parts of the columns' rows, one part after another."""
    split = [column.reshape(parts, -1, *column.shape[1:]) for column in columns]
    shapes = jax.eval_shape(function, *(column[0] for column in split))
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def add_part(total, part):
        return jax.tree.map(jnp.add, total, function(*part)), None

    total, _ = jax.lax.scan(add_part, zero, split)
    return jax.tree.map(lambda leaf: leaf / parts, total)


def stack(trees: Sequence[Any]) -> Any:
    """Join equal pytrees along a new leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def unstack(tree: Any, index: int) -> Any:
    """One member of a stacked pytree."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _chunk_means(infos: Sequence[dict[str, jax.Array]]) -> dict[str, np.ndarray]:
    """Means over the steps of a chunk, a value a seed."""
    joined = {name: np.concatenate([one[name] for one in infos], axis=-1) for name in infos[0]}
    return {name: values.astype(np.float64).mean(axis=-1) for name, values in joined.items()}
