"""The critic that ends once its value has settled: its gradients, its stop, and how close it comes to the long one."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from probes import Chain, walks
from rlassay.critic import CriticSettings, Scaling, compiled, settled, targets
from rlassay.critic.compiled import fit_networks
from rlassay.critic.fit import fit_critic
from rlassay.critic.targets import split_episodes, training_columns
from rlassay.errors import SettingsError
from rlassay.kernel import fitting, nets, regression
from rlassay.scoring import plan
from rlassay.stats import Resampling, clustered_error

CHAIN = Chain()
SETTLE = CriticSettings(discount=0.9, learning_rate=3e-3, hidden=(64,), refresh=500, settle=True)


@pytest.fixture(scope="module")
def chain():
    return CHAIN.data(episodes=200, length=100)


@pytest.mark.parametrize("sizes", [(5, 16, 1), (4, 8, 8, 3), (3, 2)])
def test_ten_steps_equal_those_of_jax_and_optax(sizes):
    """Hand-written gradients and Adam against automatic ones, with a rate that changes from step to step."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(32, dims)).astype(np.float32) for dims in (sizes[0], sizes[-1]))
    ours = regression.Regression(regression.initial_layers(np.random.default_rng(1), sizes))
    theirs = nets.init_mlp(np.random.default_rng(1), sizes)
    rates = [regression.cosine(3e-3, step, 20) for step in range(10)]
    optimiser = optax.adam(lambda step: jnp.asarray(rates)[step])
    state = optimiser.init(theirs)
    for rate in rates:
        gradient = jax.grad(lambda p: jnp.mean((nets.mlp(p, x) - y) ** 2))(theirs)
        updates, state = optimiser.update(gradient, state)
        theirs = optax.apply_updates(theirs, updates)
        ours.learn(ours.outputs(x) - y, rate)
    for mine, other in zip(ours.copy_of_layers(), theirs, strict=True):
        for name in ("w", "b"):
            np.testing.assert_allclose(mine[name], other[name], rtol=1e-3, atol=2e-6)


def test_batches_are_those_of_the_compiled_loop():
    ours = dict(regression.batches(7, (500, 1_100), 16, 90))
    assert sorted(ours) == list(range(500, 1_100))
    for first, count in ((500, 500), (1_000, 100)):
        theirs = np.asarray(fitting.draw_inputs(7, first, count, 16, 90, None).rows)
        np.testing.assert_array_equal(theirs, [ours[first + k] for k in range(count)])


def test_stretches_double_up_to_the_longest():
    found = regression.stretches(10_000, 500, 2_000)
    assert found[:4] == [(0, 500), (500, 1_000), (1_000, 2_000), (2_000, 4_000)]
    assert found[-1] == (8_000, 10_000)
    assert regression.stretches(300, 500, 2_000) == [(0, 300)]
    assert regression.stretches(700, 500, 200) == [(0, 200), (200, 400), (400, 600), (600, 700)]


def test_the_error_over_groups_is_that_of_the_bootstrap():
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 40, 80)
    group = np.repeat(np.arange(80), sizes)
    values = rng.normal(size=80)[group] + rng.normal(size=len(group))
    starts = np.cumsum(sizes) - sizes
    variance, _ = Resampling(4_000).variance([(values, group)])
    assert clustered_error(values, starts) == pytest.approx(np.sqrt(variance), rel=0.05)
    assert clustered_error(values, np.array([0])) == 0.0


def test_it_stops_early_at_the_values_of_the_chain(chain):
    critic = fit_critic(chain, SETTLE).critic
    states = chain.observations.argmax(axis=1)
    spread = np.ptp(CHAIN.v) + CHAIN.slope
    q = critic.q(0, chain.observations, chain.actions)
    assert np.abs(q - CHAIN.q(states, chain.actions[:, 0])).mean() < 0.05 * spread
    assert np.abs(critic.v(0, chain.observations) - CHAIN.v[states]).mean() < 0.05 * spread
    report = critic.diagnosis
    assert report["converged"] is True
    assert report["steps"] == critic.curve["step"][-1] < SETTLE.steps


def test_its_mean_is_that_of_the_returns_it_learned(chain):
    training, _ = split_episodes(chain, SETTLE.rows, SETTLE.holdout, 0)
    columns = training_columns(chain, training, Scaling.of(chain))
    once = replace(SETTLE, steps=500)
    critic = fit_critic(chain, once).critic
    wanted = targets.first_returns(columns, once.discount)[targets.usable_rows(columns)].mean()
    found = critic.q_at(0, columns.inputs[targets.usable_rows(columns)]).mean()
    assert found == pytest.approx(wanted, abs=1e-5 * np.ptp(CHAIN.v))


def test_it_goes_on_while_the_diagnosis_fails(chain, monkeypatch):
    most = replace(SETTLE, steps=2_000)
    assert fit_critic(chain, most).critic.curve["step"][-1] < 2_000
    monkeypatch.setattr(settled, "held_out_verdict", lambda critic, held: False)
    assert fit_critic(chain, most).critic.curve["step"][-1] == 2_000


def test_it_goes_on_while_the_mean_moves(chain, monkeypatch):
    monkeypatch.setattr(settled, "SHARE_OF_INTERVAL", 0.0)
    most = replace(SETTLE, steps=2_000)
    assert fit_critic(chain, most).critic.curve["step"][-1] == 2_000


def test_a_seed_does_not_depend_on_its_neighbours(chain):
    short = replace(SETTLE, steps=400)
    alone, together = (fit_critic(chain, short, seeds).critic for seeds in ((3,), (3, 4)))
    x = chain.observations, chain.actions
    np.testing.assert_array_equal(alone.q(0, *x), together.q(0, *x))
    assert not np.array_equal(together.q(0, *x), together.q(1, *x))


def test_settling_needs_returns():
    with pytest.raises(SettingsError, match=r"critic\.settle has no effect"):
        plan("paper", {"critic.settle": True})


@pytest.mark.parametrize("method", ["lambda", "sarsa"])
def test_batches_in_small_parts_make_the_same_bits(method, monkeypatch):
    data = walks(episodes=30, seed=0)
    settings = CriticSettings(method=method, steps=700, refresh=600, hidden=(16,), batch_size=32)
    training, _ = split_episodes(data, settings.rows, settings.holdout, 0)
    columns = training_columns(data, training, Scaling.of(data))

    def fitted():
        silent = lambda done, news: None  # noqa: E731
        return fit_networks(columns, Scaling.of(data), settings, (0, 1), silent)

    whole = fitted()
    row = 4 * (2 * columns.inputs.shape[1] + 2)
    monkeypatch.setattr(compiled, "GATHERED_BYTES", 60 * 32 * row)
    assert compiled._steps_at_once({"inputs": columns.inputs}, 32) < compiled.CHUNK
    parts = fitted()
    assert whole.curve == parts.curve
    for one, other in zip(
        jax.tree.leaves(whole.parameters), jax.tree.leaves(parts.parameters), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_wide_rows_are_gathered_for_few_steps():
    wide = {"inputs": np.zeros((1, 3_000), np.float32), "returns": np.zeros(1, np.float32)}
    steps = compiled._steps_at_once(wide, 256)
    assert steps * 256 * 3_001 * 4 <= compiled.GATHERED_BYTES and compiled.CHUNK % steps == 0
    narrow = {"inputs": np.zeros((1, 24), np.float32), "returns": np.zeros(1, np.float32)}
    assert compiled._steps_at_once(narrow, 256) == compiled.CHUNK
