"""One update of each agent of discrete actions, number by number against NumPy float64, on batches with terminal rows."""

import jax
import numpy as np
import numpy_agents
import pytest
from numpy_agents import Adam, bootstrap, mlp, polyak
from test_agent_updates import assert_learner, assert_tree, endings, shaken

from probes import with_columns
from rlassay.agents import DISCRETE_AGENTS, Shapes
from rlassay.agents.columns import make_columns
from rlassay.agents.discrete.actions import batch_of
from rlassay.agents.training import make_settings
from rlassay.kernel.fitting import draw_inputs

COUNT = 4
SHAPES = Shapes(3, COUNT)
SMALL = {"width": 5, "depth": 2, "batch_size": 16, "updates": 1_000_000}


def one_update(name: str, **changes):
    """Settings, the state before and after one step, and the batch it saw in float64."""
    settings, kind = make_settings(name, SMALL | changes, discrete=True), DISCRETE_AGENTS[name]
    data = endings()
    actions = np.random.default_rng(5).integers(0, COUNT, len(data))
    data = with_columns(data, actions=actions)
    columns, _, _ = make_columns(data, kind, settings, np.array([0]), np.array([COUNT - 1]))
    agent = kind.make(settings, SHAPES)
    inputs = draw_inputs(3, 0, 1, settings.batch_size, len(columns.packed), None)
    inputs = jax.tree.map(lambda leaf: leaf[0], inputs)
    before = shaken(agent.init(0))
    after, _ = jax.jit(agent.step)(before, columns, inputs)
    batch = batch_of(columns, np.asarray(inputs.rows), SHAPES)
    numbers = {"actions": np.asarray(batch.actions), "next_actions": np.asarray(batch.next_actions)}
    assert 0 < batch.not_terminal.mean() < 1
    return settings, before, after, numpy_agents.as_double(batch)._replace(**numbers)


def at(values, actions):
    return values[np.arange(len(actions)), actions]


def log_softmax(logits):
    largest = logits.max(axis=-1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=-1, keepdims=True))


def cross_entropy(actor, batch, weights=1.0):
    return -np.mean(weights * at(log_softmax(mlp(actor, batch.observations)), batch.actions))


def members(critic):
    return [[{k: v[i] for k, v in layer.items()} for layer in critic] for i in range(2)]


def smaller(critic, states):
    """The smaller Q of two critics, for every action."""
    return np.minimum(*(mlp(member, states) for member in members(critic)))


def twin_error(critic, batch, target):
    values = [at(mlp(member, batch.observations), batch.actions) for member in members(critic)]
    return sum(np.mean((value - target) ** 2) for value in values)


def under(values, actor, states):
    """The mean of values over the policy."""
    return (np.exp(log_softmax(mlp(actor, states))) * values).sum(axis=1)


def double(settings, before, batch):
    critic, target = numpy_agents.as_double((before.critic.params, before.critic_target))
    preferred = mlp(critic, batch.next_observations).argmax(axis=1)
    values = at(mlp(target, batch.next_observations), preferred)
    return bootstrap(batch, settings.discount, values)


def huber(error, delta):
    error = np.abs(error)
    return np.mean(np.where(error <= delta, error**2 / 2, delta * error - delta**2 / 2))


def test_bc():
    settings, before, after, batch = one_update("bc")
    actor = Adam(before.actor.params, settings.learning_rate)
    actor.step(lambda p: cross_entropy(p, batch))
    assert_learner(after.actor, actor, "actor")


@pytest.mark.parametrize("delta", [1.0, 0.1])
def test_dqn(delta):
    settings, before, after, batch = one_update("dqn", huber_delta=delta)
    target, critic = (
        double(settings, before, batch),
        Adam(before.critic.params, settings.learning_rate),
    )
    critic.step(lambda p: huber(at(mlp(p, batch.observations), batch.actions) - target, delta))
    assert_learner(after.critic, critic, "critic")
    moved = polyak(before.critic_target, critic.params, settings.target_rate)
    assert_tree(after.critic_target, moved, "target")


@pytest.mark.parametrize(
    "changes", [{}, {"conservative_weight": 3.0, "conservative_temperature": 0.5}]
)
def test_cql(changes):
    settings, before, after, batch = one_update("cql", **changes)
    target, critic = (
        double(settings, before, batch),
        Adam(before.critic.params, settings.learning_rate),
    )
    temperature = settings.conservative_temperature

    def loss(p):
        values = mlp(p, batch.observations)
        soft = temperature * np.log(np.exp(values / temperature).sum(axis=1))
        gap = np.mean(soft - at(values, batch.actions))
        error = huber(at(values, batch.actions) - target, settings.huber_delta)
        return error + settings.conservative_weight * gap

    critic.step(loss)
    assert_learner(after.critic, critic, "critic")
    moved = polyak(before.critic_target, critic.params, settings.target_rate)
    assert_tree(after.critic_target, moved, "target")


@pytest.mark.parametrize("changes", [{}, {"weight_clip": 1.01, "reward_scaling": "none"}])
def test_iql(changes):
    settings, before, after, batch = one_update("iql", **changes)
    q = at(smaller(numpy_agents.as_double(before.critic_target), batch.observations), batch.actions)
    value = Adam(before.value.params, settings.learning_rate)

    def value_loss(p):
        u = q - mlp(p, batch.observations)[:, 0]
        return np.mean(np.where(u > 0, settings.expectile, 1 - settings.expectile) * u**2)

    value.step(value_loss)
    now, following = (
        mlp(value.params, states)[:, 0] for states in (batch.observations, batch.next_observations)
    )
    weights = np.exp(settings.inverse_temperature * (q - now))
    weights = np.minimum(weights, settings.weight_clip)
    actor = Adam(before.actor.params, settings.learning_rate)
    actor.step(lambda p: cross_entropy(p, batch, weights))
    critic = Adam(before.critic.params, settings.learning_rate)
    target = bootstrap(batch, settings.discount, following)
    critic.step(lambda p: twin_error(p, batch, target))
    for name, wanted in (("value", value), ("actor", actor), ("critic", critic)):
        assert_learner(getattr(after, name), wanted, name)
    moved = polyak(before.critic_target, critic.params, settings.target_rate)
    assert_tree(after.critic_target, moved, "target")


@pytest.mark.parametrize("weighting", ["softmax", "clipped_exponential"])
def test_awac(weighting):
    settings, before, after, batch = one_update(
        "awac", actor_depth=1, temperature=0.5, weighting=weighting, weight_clip=1.05
    )
    old, target_critic = numpy_agents.as_double((before.actor.params, before.critic_target))
    states = batch.next_observations
    values = under(smaller(target_critic, states), old, states)
    target = bootstrap(batch, settings.discount, values)
    critic = Adam(before.critic.params, settings.learning_rate)
    critic.step(lambda p: twin_error(p, batch, target))
    q = smaller(critic.params, batch.observations)
    advantage = at(q, batch.actions) - under(q, old, batch.observations)
    weights = np.exp(advantage / settings.temperature)
    weights = weights / weights.mean() if weighting == "softmax" else np.minimum(weights, 1.05)
    actor = Adam(before.actor.params, settings.learning_rate, settings.actor_weight_decay)
    actor.step(lambda p: cross_entropy(p, batch, weights))
    assert_learner(after.actor, actor, "actor")
    assert_learner(after.critic, critic, "critic")
    moved = polyak(before.critic_target, critic.params, settings.target_rate)
    assert_tree(after.critic_target, moved, "target")


def test_onestep_learns_the_behaviour():
    settings, before, after, batch = one_update("onestep", target_rate=0.1)
    target_critic = numpy_agents.as_double(before.critic_target)
    following = at(mlp(target_critic, batch.next_observations), batch.next_actions)
    target = bootstrap(batch, settings.discount, following)
    critic = Adam(before.critic.params, settings.learning_rate)
    critic.step(lambda p: np.mean((at(mlp(p, batch.observations), batch.actions) - target) ** 2))
    actor = Adam(before.actor.params, settings.learning_rate)
    actor.step(lambda p: cross_entropy(p, batch))
    assert_learner(after.critic, critic, "critic")
    assert_learner(after.actor, actor, "actor")
    assert_tree(after.behaviour, actor.params, "behaviour")


def test_onestep_improves():
    settings, before, after, batch = one_update(
        "onestep", critic_share=0.0, inverse_temperature=3.0, weight_clip=1.05
    )
    behaviour, critic = numpy_agents.as_double((before.behaviour, before.critic.params))
    q = mlp(critic, batch.observations)
    advantage = at(q, batch.actions) - under(q, behaviour, batch.observations)
    weights = np.minimum(np.exp(3.0 * advantage), 1.05)
    actor = Adam(before.actor.params, settings.learning_rate)
    actor.step(lambda p: cross_entropy(p, batch, weights))
    assert_learner(after.actor, actor, "actor")
    assert_tree(after.critic, before.critic, "critic")
