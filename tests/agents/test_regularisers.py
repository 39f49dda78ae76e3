"""The regularisers: what Algorithm 2 does at its optimum, what reaches the actor, and that three agents take them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agent_problems import assemble, learn, wide_bandit

from probes import walks
from rlassay.agents import Shapes
from rlassay.agents.regularisers import (
    RegularisedSettings,
    bwd_objective,
    draw_random,
    make_regulariser,
    transport_cost,
)
from rlassay.kernel.fitting import draw_inputs

SHAPES = Shapes(3, 2)
RNG = np.random.default_rng(0)
STATES = jnp.asarray(RNG.normal(size=(32, 3)), jnp.float32)
ACTIONS = jnp.asarray(RNG.uniform(-1, 1, (32, 2)), jnp.float32)
KEY = jax.random.PRNGKey(1)


def value(observations, actions):
    """A known Q."""
    return 5.0 + observations[..., 0] + 2 * actions[..., 0]


def test_at_optimal_potentials_only_the_distance_reaches_the_actor():
    """g + f = c everywhere on the batch, with different splits between g and f."""
    random = jnp.asarray(RNG.uniform(-1, 1, (1, 32, 2)), jnp.float32)

    def distance(actions):
        return -((random - actions) ** 2).sum(axis=-1).mean()

    for split in (0.0, 0.3, 1.0):

        def estimate(actions, split=split):
            cost = transport_cost(value(STATES, random), random, actions)
            fixed = jax.lax.stop_gradient(cost)
            shape = -((random[0] - actions) ** 2).sum(
                axis=-1
            )  # how g depends on the policy's action
            g = split * (shape - jax.lax.stop_gradient(shape)) + 0.4 * fixed[0]
            return bwd_objective(g, 0.6 * fixed, cost, 0.5)

        found, wanted = jax.grad(estimate)(ACTIONS), jax.grad(distance)(ACTIONS)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def trained_bwd(updates: int = 3_000):
    """Potentials trained on one batch with its own random actions."""
    settings = RegularisedSettings(
        regulariser="bwd", bwd_critic="own", bwd_width=64, bwd_learning_rate=3e-3, bwd_weight=1.0
    )
    regulariser = make_regulariser(settings, SHAPES)

    def step(state, _):
        return regulariser.update(state, value, STATES, ACTIONS, KEY)

    state = regulariser.init(np.random.default_rng(0))
    state, info = jax.jit(lambda s: jax.lax.scan(step, s, None, length=updates))(state)
    return settings, regulariser, state, np.asarray(info["bwd"])


def test_trained_potentials_pull_the_policy_to_the_random_actions():
    settings, regulariser, state, estimates = trained_bwd()
    random = draw_random(settings, KEY, ACTIONS.shape)
    cost = transport_cost(value(STATES, random), random, ACTIONS)
    optimum = float(cost.mean()) - settings.bwd_epsilon  # facts: E c - epsilon
    assert estimates[0] < optimum - 0.05
    assert estimates[-1] == pytest.approx(optimum, abs=0.02)
    pull = jax.grad(lambda a: regulariser.term(state, value, STATES, a, KEY))(ACTIONS)
    wanted = 2 * (ACTIONS - random[0]) / len(ACTIONS)  # the loss falls towards a'
    assert np.corrcoef(np.ravel(pull), np.ravel(wanted))[0, 1] > 0.9


def test_the_actor_step_leaves_the_potentials_alone_but_sees_their_slope():
    settings, regulariser, state, _ = trained_bwd(20)

    def loss(potentials, actions):
        frozen = state._replace(potentials=state.potentials._replace(params=potentials))
        return regulariser.term(frozen, value, STATES, actions, KEY)

    through_cost_only = jax.grad(lambda a: -bwd_term_without_g(settings, state, a))(ACTIONS)
    through_both = jax.grad(loss, argnums=1)(state.potentials.params, ACTIONS)
    assert np.abs(through_both - through_cost_only).max() > 1e-4


def bwd_term_without_g(settings, state, actions):
    """The estimate with g's action input cut off."""
    from rlassay.kernel import nets

    random = draw_random(settings, KEY, actions.shape)
    cost = transport_cost(value(STATES, random), random, actions)
    fixed = jax.lax.stop_gradient(actions)
    g = state.centre / 2 + state.spread * nets.scalar(state.potentials.params["g"], STATES, fixed)
    f = state.centre / 2 + state.spread * nets.scalar_per_state(
        state.potentials.params["f"], STATES, random
    )
    return bwd_objective(g, f, cost, settings.bwd_epsilon)


def test_value_gap_pushes_towards_better_actions_and_outwards():
    settings = RegularisedSettings(regulariser="value_gap", bwd_critic="own", bwd_distance=0.0)
    regulariser = make_regulariser(settings, SHAPES)
    better = jnp.ones_like(ACTIONS) * 0.9  # above almost every random action in the first dimension
    slope = jax.grad(lambda a: regulariser.term((), value, STATES, a, KEY))(better)
    assert (slope[:, 0] <= 0).all() and (slope[:, 0] < 0).mean() > 0.5  # descent raises Q
    assert (slope[:, 1] == 0).all()  # Q does not see the second dimension
    outward = make_regulariser(
        RegularisedSettings(regulariser="value_gap", bwd_critic="own", bwd_distance=1.0), SHAPES
    )
    slope = jax.grad(lambda a: outward.term((), value, STATES, a, KEY))(better)
    assert slope[:, 1].mean() < 0


def test_performance_difference_weights_compare_with_random_actions():
    settings = RegularisedSettings(
        regulariser="performance_difference",
        bwd_critic="own",
        bwd_negatives=64,
        bwd_random="uniform",
    )
    regulariser = make_regulariser(settings, SHAPES)
    weights = regulariser.weights((), value, STATES, ACTIONS, KEY)
    random = draw_random(settings, KEY, ACTIONS.shape)
    own = value(STATES, ACTIONS)
    wanted = (own - value(STATES, random).mean(axis=0)) / jnp.abs(own).mean()
    np.testing.assert_allclose(weights, wanted, rtol=1e-5)
    assert (np.asarray(weights) < 0).any()


@pytest.mark.parametrize("agent", ["iql", "td3bc", "awac"])
def test_maximising_bwd_shrinks_actions_and_minimising_it_expands_them(agent):
    """The derivation of docs/regularisers.md, in training: the pull is towards E a' = 0."""
    probe = wide_bandit()
    sizes = {}
    for weight in (3.0, -1.0):
        _, _, policy = learn(
            agent,
            probe.data,
            updates=1_200,
            regulariser="bwd",
            bwd_weight=weight,
            bwd_critic_updates=200,
            bwd_width=16,
            bwd_learning_rate=3e-3,
            actor_depth=2,
        )
        sizes[weight] = float(np.abs(policy(probe.states)).mean())
    assert sizes[3.0] < 0.5 * sizes[-1.0]


def differ(first, second) -> bool:
    """Whether every leaf moved."""
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(np.abs(a - b).max() > 0 for a, b in pairs)


@pytest.mark.parametrize(
    ("agent", "regulariser"),
    [("iql", "bwd"), ("td3bc", "value_gap"), ("awac", "performance_difference")],
)
def test_the_sarsa_critic_is_trained_before_and_frozen_after(agent, regulariser):
    data = walks(episodes=6, length=20, dims=(3, 1))
    changes = {"regulariser": regulariser, "width": 4, "bwd_width": 8, "bwd_critic_updates": 50}
    made, _, columns, _ = assemble(agent, data, changes)
    fresh = made.init(0)
    prepared = made.prepare(fresh, columns, 0)
    assert differ(fresh.regulariser.critic, prepared.regulariser.critic)
    state, batch = prepared, draw_inputs(0, 0, 3, 8, len(columns.packed), None)
    step = jax.jit(made.step)
    for update in range(3):
        state, _ = step(state, columns, jax.tree.map(lambda leaf, k=update: leaf[k], batch))
    for a, b in zip(
        jax.tree.leaves(prepared.regulariser.critic),
        jax.tree.leaves(state.regulariser.critic),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    assert differ(prepared.actor.params, state.actor.params)  # the updates did happen
    if regulariser == "bwd":
        assert differ(prepared.regulariser.potentials.params, state.regulariser.potentials.params)
