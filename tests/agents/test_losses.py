"""Losses and weights against closed forms, SciPy and their own optima."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rlassay.agents import implicit, iql, losses, td3bc
from rlassay.agents.regularisers import NO_PULL, Pull, sarsa_loss
from rlassay.agents.training import make_settings
from rlassay.kernel import nets

RNG = np.random.default_rng(0)
SAMPLE = RNG.normal(size=400)


def minimiser(loss, low=-4.0, high=4.0) -> float:
    """Of a convex function of one number, by bisection of its slope."""
    slope = jax.jit(jax.grad(loss))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize("expectile", [0.5, 0.8])
def test_the_expectile_loss_finds_the_expectile(expectile):
    found = minimiser(lambda v: losses.expectile_loss(SAMPLE - v, expectile))
    assert found == pytest.approx(stats.expectile(SAMPLE, expectile), abs=1e-3)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_gumbel_loss_finds_the_soft_maximum(temperature):
    """Without clipping its optimum is T log E exp(x / T)."""
    found = minimiser(lambda v: losses.gumbel_loss(SAMPLE - v, temperature, 50.0)[0])
    wanted = temperature * np.log(np.mean(np.exp(SAMPLE / temperature)))
    assert found == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("shift", [0.0, -9.0])
def test_the_gumbel_loss_is_scaled_and_clipped_above_only(shift):
    u = np.array([-3.0, -0.5, 0.4, 2.0]) + shift
    z = np.minimum(u / 0.5, 1.0)
    largest = max(z.max(), -1.0)
    loss, clipped = losses.gumbel_loss(jnp.asarray(u), 0.5, 1.0)
    assert loss == pytest.approx(np.mean((np.exp(z) - z - 1) / np.exp(largest)), rel=1e-5)
    assert clipped == np.mean(u / 0.5 > 1.0)


def test_a_terminal_is_worth_its_reward_alone():
    found = losses.td_target(np.array([1.0, 1.0]), np.array([1.0, 0.0]), 0.9, np.array([5.0, 5.0]))
    np.testing.assert_allclose(found, [5.5, 1.0])


def test_twin_losses_average_the_batch_and_add_the_critics():
    values, target = np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([1.0, 1.0])
    assert losses.twin_squared_error(values, target) == pytest.approx(0.5 + 5.0)
    # errors 0, 1, 1, 3 with delta 2: half the square, beyond delta its tangent
    found = losses.twin_huber(values, target, 2.0)
    assert found == pytest.approx((0 + 0.5) / 2 + (0.5 + 2 * (3 - 1)) / 2)


def test_weights_of_advantages():
    advantage = np.array([-1.0, 0.0, 2.0])
    found = losses.exponential_weights(jnp.asarray(advantage), 3.0, 100.0)
    np.testing.assert_allclose(found, [np.exp(-3), 1.0, 100.0], rtol=1e-5)
    soft = np.exp(advantage / 0.5)
    found = losses.softmax_weights(jnp.asarray(advantage), 0.5)
    np.testing.assert_allclose(found, 3 * soft / soft.sum(), rtol=1e-5)
    for weights in (
        lambda a: losses.exponential_weights(a, 3.0, 100.0),
        lambda a: losses.softmax_weights(a, 0.5),
    ):
        assert not jax.grad(lambda a, w=weights: w(a).sum())(jnp.asarray(advantage)).any()


def test_densities_against_scipy():
    mean, log_std = RNG.normal(size=(5, 2)), 0.3 * RNG.normal(size=(5, 2))
    actions = RNG.uniform(-0.9, 0.9, (5, 2))
    wanted = stats.norm.logpdf(actions, mean, np.exp(log_std)).sum(axis=1)
    np.testing.assert_allclose(losses.gaussian_log_prob(mean, log_std, actions), wanted, rtol=1e-5)
    raw = np.arctanh(actions)
    slope = np.log(1 - actions**2)
    wanted = (stats.norm.logpdf(raw, mean, np.exp(log_std)) - slope).sum(axis=1)
    found = losses.tanh_gaussian_log_prob(mean, log_std, actions)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    drawn, density = losses.tanh_gaussian(mean, log_std, (raw - mean) / np.exp(log_std))
    np.testing.assert_allclose(drawn, actions, rtol=1e-5)
    np.testing.assert_allclose(density, wanted, rtol=1e-4)


def test_the_conservative_gap_is_a_soft_maximum_above_the_data():
    proposed, data = RNG.normal(size=(2, 6, 4)), RNG.normal(size=(2, 4))
    soft = 0.7 * np.log(np.exp(proposed / 0.7).sum(axis=1))
    found = losses.conservative_gap(jnp.asarray(proposed), jnp.asarray(data), 0.7)
    assert found == pytest.approx((soft - data).mean(axis=1).sum(), rel=1e-5)


def small_batch(rows: int = 6):
    return SimpleNamespace(
        observations=jnp.asarray(RNG.normal(size=(rows, 3)), jnp.float32),
        next_observations=jnp.asarray(RNG.normal(size=(rows, 3)), jnp.float32),
        actions=jnp.asarray(RNG.uniform(-1, 1, (rows, 2)), jnp.float32),
        next_actions=jnp.asarray(RNG.uniform(-1, 1, (rows, 2)), jnp.float32),
        rewards=jnp.asarray(RNG.normal(size=rows), jnp.float32),
        not_terminal=jnp.asarray([1, 0, 1, 1, 0, 1], jnp.float32),
        sarsa_known=jnp.asarray([1, 1, 1, 0, 1, 0], jnp.float32),
    )


def test_the_behavioural_critic_learns_from_known_rows_without_a_gradient_through_the_target():
    batch, critic = small_batch(), nets.init_mlp(np.random.default_rng(1), [5, 8, 1])
    following = nets.scalar(critic, batch.next_observations, batch.next_actions)
    target = np.asarray(batch.rewards + 0.9 * batch.not_terminal * following)

    def with_fixed_target(params):
        error = nets.scalar(params, batch.observations, batch.actions) - target
        return (error**2 * np.array([1, 1, 1, 0, 1, 0])).sum() / 6

    loss, _ = sarsa_loss(critic, batch, 0.9)  # type: ignore[arg-type]
    assert loss == pytest.approx(float(with_fixed_target(critic)), rel=1e-5)
    found = jax.grad(lambda p: sarsa_loss(p, batch, 0.9)[0])(critic)  # type: ignore[arg-type]
    for a, b in zip(
        jax.tree.leaves(found), jax.tree.leaves(jax.grad(with_fixed_target)(critic)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_losses_of_agents_can_be_called_alone():
    batch: object = small_batch()
    rng, settings = np.random.default_rng(2), make_settings("iql", None)
    value = nets.init_mlp(rng, [3, 8, 1])
    q = nets.scalar(value, batch.observations)  # type: ignore[attr-defined]
    assert iql.value_loss(value, batch, q, settings)[0] == 0  # type: ignore[arg-type]
    actor = {"layers": nets.init_mlp(rng, [3, 8, 2]), "log_std": jnp.zeros(2)}
    plain, (mean, _) = implicit.actor_loss(actor, batch, jnp.zeros(6), settings, NO_PULL)  # type: ignore[arg-type]
    density = stats.norm.logpdf(np.asarray(batch.actions), np.asarray(mean))  # type: ignore[attr-defined]
    assert plain == pytest.approx(-density.sum(axis=1).mean(), rel=1e-5)
    pull = Pull(lambda observations, actions: 2.0, lambda observations, actions: 1.0)
    pulled, _ = implicit.actor_loss(actor, batch, jnp.zeros(6), settings, pull)  # type: ignore[arg-type]
    assert pulled == pytest.approx(2 * float(plain) + 2, rel=1e-5)


def test_the_target_of_td3_takes_the_smaller_critic_and_stops_at_terminals():
    batch, settings = small_batch(), make_settings("td3bc", None)
    rng = np.random.default_rng(3)
    actor, critic = nets.init_mlp(rng, [3, 8, 2]), nets.init_mlp(rng, [5, 8, 1], ensemble=2)
    found = td3bc.target_value(actor, critic, batch, jnp.zeros((6, 2)), settings)
    actions = jnp.tanh(nets.mlp(actor, batch.next_observations))
    values = np.asarray(nets.scalar(critic, batch.next_observations, actions)).min(axis=0)
    wanted = batch.rewards + 0.99 * np.array([1, 0, 1, 1, 0, 1]) * values
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
