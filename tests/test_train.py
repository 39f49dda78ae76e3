"""The training loop: seeds do not feel each other, lanes change nothing, and a stopped run goes on bit-equal."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlassay import runtime
from rlassay.kernel import fitting

STEPS = 40


def descend(state, data, inputs):
    """One gradient step of a linear regression on the drawn rows, with a little noise."""
    x, y = data["x"][inputs.rows], data["y"][inputs.rows]
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(state)
    noise = 1e-3 * jax.random.normal(jax.random.wrap_key_data(inputs.key), state.shape)
    return state - 0.1 * gradient + noise, {"loss": loss}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    return {"x": x, "y": x @ np.array([1, -2, 3], np.float32)}


@pytest.fixture
def two_lanes():
    runtime.use_lanes(2)
    yield
    runtime.use_lanes(1)


def fitted(data, seeds, steps=STEPS, state=None, **options):
    state = np.zeros((len(seeds), 3), np.float32) if state is None else state
    chosen = {"rows": 200, "batch_size": 16, "chunk": 10, **options}
    return np.asarray(fitting.fit(descend, state, data, steps=steps, seeds=seeds, **chosen))


def test_learns(data):
    np.testing.assert_allclose(fitted(data, [0], steps=200)[0], [1, -2, 3], atol=0.05)


def test_seeds_do_not_feel_each_other(data):
    together = fitted(data, [5, 6, 7])
    for member, seed in enumerate([5, 6, 7]):
        np.testing.assert_array_equal(together[member], fitted(data, [seed])[0])


def test_lanes_change_nothing(data, two_lanes):
    assert len({id(lane.client) for lane in runtime.lanes()}) == 2
    on_two = fitted(data, [5, 6, 7])
    runtime.use_lanes(1)
    np.testing.assert_array_equal(on_two, fitted(data, [5, 6, 7]))


def test_more_lanes_than_seeds(data, two_lanes):
    np.testing.assert_array_equal(fitted(data, [5]), fitted(data, [5, 6])[:1])


def test_a_stopped_run_goes_on_bit_equal(data):
    half = fitted(data, [3], steps=STEPS // 2)
    whole = fitted(data, [3], state=half, start=STEPS // 2)
    np.testing.assert_array_equal(whole, fitted(data, [3]))


def test_chunks_are_heard(data):
    heard = []
    fitted(data, [0, 1], on_chunk=lambda done, state, info: heard.append((done, info["loss"])))
    assert [done for done, _ in heard] == [10, 20, 30, 40]
    assert all(loss.shape == (2,) for _, loss in heard)
    assert heard[-1][1].max() < heard[0][1].min()


def test_mean_over_parts_is_the_mean_over_all_rows():
    rows = jnp.arange(24.0).reshape(12, 2)

    def squares(part, weights):
        return {"square": (part**2).mean(), "weighted": (part * weights[:, None]).mean(axis=0)}

    weights = jnp.linspace(0, 1, 12)
    whole = squares(rows, weights)
    for parts in (1, 3, 4):
        found = fitting.mean_over_parts(squares, [rows, weights], parts)
        np.testing.assert_allclose(found["square"], whole["square"], rtol=1e-6)
        np.testing.assert_allclose(found["weighted"], whole["weighted"], rtol=1e-6)
