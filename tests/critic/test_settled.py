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
from rlassay.critic.learners import ContinuousLearner
from rlassay.critic.targets import split_episodes, training_columns
from rlassay.errors import SettingsError
from rlassay.kernel import fitting, nets, regression
from rlassay.kernel.forward import mlp
from rlassay.scoring import plan
from rlassay.stats import Resampling, clustered_error

CHAIN = Chain()
SETTLE = CriticSettings(discount=0.9, learning_rate=3e-3, hidden=(64,), refresh=500, settle=True)


@pytest.fixture(scope="module")
def chain():
    return CHAIN.data(episodes=200, length=100)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ((5, 16, 1), regression.Regression),
        ((5, 16, 1), regression.OneOutput),
        ((4, 8, 8, 3), regression.Regression),
        ((3, 2), regression.Regression),
    ],
)
def test_ten_steps_equal_those_of_jax_and_optax(sizes, kind):
    """Hand-written gradients and Adam against automatic ones, with a rate that changes from step to step."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(32, dims)).astype(np.float32) for dims in (sizes[0], sizes[-1]))
    ours = kind(regression.initial_layers(np.random.default_rng(1), sizes))
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


def test_the_quicker_network_is_taken_where_the_shape_allows_it():
    rng = np.random.default_rng(0)
    kinds = [
        type(regression.network(regression.initial_layers(rng, sizes)))
        for sizes in ((5, 16, 1), (5, 16, 2), (5, 8, 8, 1), (5, 1))
    ]
    assert kinds == [regression.OneOutput, *[regression.Regression] * 3]


@pytest.mark.parametrize("rows", [0, 1, 512, 1_300])
@pytest.mark.parametrize("sizes", [(5, 16, 1), (4, 8, 8, 3), (3, 2)])
def test_blocks_are_evaluated_as_the_whole(rows, sizes):
    rng = np.random.default_rng(0)
    layers = regression.initial_layers(rng, sizes)
    x = rng.normal(size=(rows, sizes[0])).astype(np.float32)
    found = regression.evaluate(layers, x)
    assert found.shape == (rows, sizes[-1])
    np.testing.assert_allclose(found, mlp(layers, x), rtol=1e-5, atol=1e-6)


def test_a_batch_of_another_size_may_follow():
    rng = np.random.default_rng(0)
    layers = regression.initial_layers(rng, (5, 16, 1))
    quick, plain = regression.OneOutput(layers), regression.Regression(layers)
    for rows in (32, 7, 32):
        x, y = rng.normal(size=(rows, 5)).astype(np.float32), np.ones((rows, 1), np.float32)
        for network in (quick, plain):
            network.learn(network.outputs(x) - y, 1e-2)
    np.testing.assert_allclose(quick.weights, plain.weights, rtol=1e-3, atol=2e-6)


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
    most = replace(SETTLE, steps=6_000)
    assert fit_critic(chain, most).critic.curve["step"][-1] < 6_000
    monkeypatch.setattr(settled, "held_out_verdict", lambda critic, held: False)
    assert fit_critic(chain, most).critic.curve["step"][-1] == 6_000


def test_it_goes_on_while_the_mean_moves(chain, monkeypatch):
    monkeypatch.setattr(settled, "SHARE_OF_INTERVAL", 0.0)
    most = replace(SETTLE, steps=2_000)
    assert fit_critic(chain, most).critic.curve["step"][-1] == 2_000


def test_one_quiet_stretch_is_not_enough(chain, monkeypatch):
    monkeypatch.setattr(settled, "_settled", lambda before, after: before is not None)
    monkeypatch.setattr(settled, "held_out_verdict", lambda critic, held: True)
    assert fit_critic(chain, SETTLE).critic.curve["step"][-1] == 1_500  # 500, and 500 twice
    alternating = iter([False, True, False, True, True])
    monkeypatch.setattr(settled, "_settled", lambda before, after: next(alternating))
    assert fit_critic(chain, SETTLE).critic.curve["step"][-1] == 2_500


@pytest.mark.parametrize("reached", [2.0, 0.0])
def test_either_mean_keeps_it_going(reached):
    still, moved = settled.Judged(1.0, 0.5), settled.Judged(reached, 0.5)
    assert not settled._settled(None, [(still, still)])
    assert settled._settled([(still, still)], [(still, still)])
    for after in ((moved, still), (still, moved)):
        assert not settled._settled([(still, still)], [after])
        assert not settled._settled([(still, still)] * 2, [(still, still), after])


def test_a_mean_is_judged_beside_its_own_interval():
    rng = np.random.default_rng(0)
    starts = np.arange(0, 2_000, 100)
    values = np.repeat(rng.normal(size=20), 100) + rng.normal(size=2_000)
    judged = settled.Judged.of(values, starts)
    assert judged.mean == values.mean()
    assert judged.allowed == pytest.approx(0.2 * 1.96 * clustered_error(values, starts))
    assert settled.Judged.of(10 * values, starts).allowed == pytest.approx(10 * judged.allowed)
    assert settled.Judged.of(values, starts[:1]).allowed == pytest.approx(0.01 * values.std())


def test_probed_rows_know_their_episodes():
    data = walks(episodes=30, seed=0)
    training, _ = split_episodes(data, 10_000, 0.2, 0)
    columns = training_columns(data, training, Scaling.of(data))
    learner = ContinuousLearner(columns, Scaling.of(data), SETTLE, 0, (0.0, 1.0))
    ends = np.append(learner.probe_starts[1:], len(learner.probe))
    rows = [np.flatnonzero((columns.inputs == row).all(axis=1))[0] for row in learner.probe]
    for first, last in zip(learner.probe_starts, ends, strict=True):
        of = np.searchsorted(columns.starts, rows[first:last], side="right")
        assert len(set(of)) == 1
    assert len(learner.probe_starts) == len(columns.starts)
    assert learner.random_values().shape == (len(learner.probe),)


def test_the_rate_falls_in_every_stretch_and_from_stretch_to_stretch(chain):
    training, _ = split_episodes(chain, SETTLE.rows, SETTLE.holdout, 0)
    columns = training_columns(chain, training, Scaling.of(chain))
    learner = ContinuousLearner(columns, Scaling.of(chain), SETTLE, 0, (0.0, 1.0))
    highest = [learner._rate(first, first, last) for first, last in ((0, 500), (500, 1_000))]
    assert highest == [3 * SETTLE.learning_rate] * 2
    assert learner._rate(1_000, 1_000, 2_000) == pytest.approx(1.5 * SETTLE.learning_rate)
    assert learner._rate(1_999, 1_000, 2_000) < 1e-5 * SETTLE.learning_rate
    learner.settings = replace(SETTLE, decay=False)
    assert learner._rate(1_000, 1_000, 2_000) == SETTLE.learning_rate


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
