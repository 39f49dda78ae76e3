"""One update of each agent, number by number against NumPy float64, on batches with terminal rows."""

from types import SimpleNamespace

import jax
import numpy as np
import numpy_agents
import pytest

from probes import walks, with_columns
from rlassay.agents import AGENTS, Shapes
from rlassay.agents.columns import make_columns
from rlassay.agents.learner import Learner
from rlassay.agents.training import make_settings
from rlassay.kernel.fitting import draw_inputs

SHAPES = Shapes(3, 2)
SMALL = {"width": 5, "depth": 2, "batch_size": 16, "updates": 1_000_000}


def endings():
    """Short walks of which every second one ends in a terminal, the others are cut by a timeout."""
    data = walks(episodes=60, length=3)
    ends = np.flatnonzero(data.timeouts)
    terminals, timeouts = np.zeros((2, len(data)), bool)
    terminals[ends[::2]], timeouts[ends[1::2]] = True, True
    return with_columns(data, terminals=terminals, timeouts=timeouts)


def one_update(name: str, **changes):
    """Settings, the state before and after one step, and the batches it saw in float64."""
    settings = make_settings(name, SMALL | changes)
    kind = AGENTS[name]
    columns, _, _ = make_columns(endings(), kind, settings, -np.ones(2), np.ones(2))
    agent = kind.make(settings, SHAPES)
    each = agent.updates_per_step
    rows = len(columns.packed)
    inputs = draw_inputs(3, 0, 1, settings.batch_size * each, rows, None)
    inputs = jax.tree.map(lambda leaf: leaf[0], inputs)
    before = shaken(agent.init(0))
    after, info = jax.jit(agent.step)(before, columns, inputs)
    batches = [columns.batch(part, SHAPES) for part in np.split(np.asarray(inputs.rows), each)]
    assert all(0 < batch.not_terminal.mean() < 1 for batch in batches)
    return settings, before, after, numpy_agents.as_double(batches), inputs.key, info


def shaken(state):
    """Every network moved a little: no bias stands on a kink, and no target equals its network."""
    rng = np.random.default_rng(9)

    def shake(tree):
        if isinstance(tree, Learner):
            return tree._replace(params=shake(tree.params))
        return jax.tree.map(
            lambda x: x + np.float32(0.1) * rng.normal(size=x.shape).astype(x.dtype), tree
        )

    return type(state)(*(shake(part) for part in state))


def assert_learner(found, expected: numpy_agents.Adam, name: str):
    """Parameters, and through the moments the gradient itself: Adam's first step alone hides its size."""
    adam = found.moments[0]
    for part, wanted in (
        (adam.mu, expected.mu),
        (adam.nu, expected.nu),
        (found.params, expected.params),
    ):
        assert_tree(part, wanted, name)


def assert_tree(found, expected, name: str):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-6, err_msg=name)


def normal(key, *shape):
    return np.asarray(jax.random.normal(key, shape), np.float64)


@pytest.mark.parametrize("changes", [{}, {"weight_clip": 1.01, "reward_scaling": "none"}])
def test_iql(changes):
    settings, before, after, [batch], _, _ = one_update("iql", **changes)
    wanted = numpy_agents.iql(settings, before, batch)
    for name in ("value", "actor", "critic"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.critic_target, wanted.critic_target, "target")


@pytest.mark.parametrize(
    "changes", [{}, {"gumbel_temperature": 0.6, "gumbel_clip": 0.4, "huber_delta": 0.3}]
)
def test_xql(changes):
    settings, before, after, [batch], _, info = one_update("xql", **changes)
    wanted = numpy_agents.xql(settings, before, batch)
    for name in ("value", "actor", "critic"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.critic_target, wanted.critic_target, "target")
    assert (info["clipped"] > 0) == bool(changes)


def test_bc():
    settings, before, after, [batch], _, _ = one_update("bc")
    assert_learner(after.actor, numpy_agents.bc(settings, before, batch).actor, "actor")


def test_onestep_learns_the_behaviour():
    settings, before, after, [batch], _, _ = one_update("onestep", target_rate=0.1)
    wanted = numpy_agents.onestep_behaviour(settings, before, batch)
    for name in ("actor", "critic"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.critic_target, wanted.critic_target, "target")
    assert_tree(after.behaviour, wanted.behaviour, "behaviour")


@pytest.mark.parametrize("weight_clip", [100.0, 0.99])
def test_onestep_improves_and_the_rest_is_frozen(weight_clip):
    changes = {"critic_share": 0.0, "action_samples": 3, "inverse_temperature": 3.0}
    settings, before, after, [batch], key, _ = one_update(
        "onestep", **changes, weight_clip=weight_clip
    )
    wanted = numpy_agents.onestep_policy(settings, before, batch, normal(key, 3, 16, 2))
    assert_learner(after.actor, wanted.actor, "actor")
    for name in ("behaviour", "critic", "critic_target"):
        kept = zip(
            jax.tree.leaves(getattr(after, name)),
            jax.tree.leaves(getattr(before, name)),
            strict=True,
        )
        assert all((a == b).all() for a, b in kept), name


def test_td3bc():
    settings, before, after, batches, key, _ = one_update("td3bc", target_noise=0.6)
    keys = jax.random.split(key, 3)
    noises = [normal(k, 16, 2) for k in keys[:2]]
    wanted = numpy_agents.td3bc(settings, before, batches, noises)
    for name in ("actor", "critic"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.actor_target, wanted.actor_target, "actor target")
    assert_tree(after.critic_target, wanted.critic_target, "critic target")


def test_awac():
    settings, before, after, [batch], key, _ = one_update("awac", actor_depth=1, temperature=0.5)
    next_key, own_key = jax.random.split(key)
    wanted = numpy_agents.awac(
        settings, before, batch, normal(next_key, 16, 2), normal(own_key, 16, 2)
    )
    for name in ("actor", "critic"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.critic_target, wanted.critic_target, "target")


@pytest.mark.parametrize(
    ("cloning_share", "changes"),
    [
        (0.0, {}),
        (0.5, {}),
        (0.5, {"likelihood_margin": 0.4}),
        (0.0, {"conservative_scaling": "values", "batch_size": 15}),  # one part: one mean of |Q|
    ],
)
def test_cql(cloning_share, changes):
    settings, before, after, [batch], key, _ = one_update(
        "cql",
        action_samples=3,
        conservative_temperature=0.7,
        cloning_share=cloning_share,
        depth=2,
        **changes,
    )
    rows = settings.batch_size
    actor_key, next_key, proposal_key = jax.random.split(key, 3)
    proposal_key, uniform_key = jax.random.split(proposal_key)
    uniform = jax.random.uniform(uniform_key, (3, rows, 2), minval=-1, maxval=1)
    noise = SimpleNamespace(
        actor=normal(actor_key, rows, 2),
        following=normal(next_key, rows, 2),
        proposals=normal(proposal_key, 2, 3, rows, 2),
        uniform=np.asarray(uniform, np.float64),
    )
    wanted = numpy_agents.cql(settings, before, batch, noise, cloning=cloning_share > 0)
    for name in ("actor", "critic", "log_temperature"):
        assert_learner(getattr(after, name), getattr(wanted, name), name)
    assert_tree(after.critic_target, wanted.critic_target, "target")


def test_timeouts_bootstrap_and_terminals_do_not():
    data = walks(episodes=4, length=10)
    columns, _, _ = make_columns(
        data, AGENTS["iql"], make_settings("iql", None), -np.ones(2), np.ones(2)
    )
    batch = columns.batch(np.arange(len(data)), SHAPES)
    assert (np.asarray(batch.not_terminal) == 1).all()
    assert (np.asarray(batch.sarsa_known)[data.timeouts] == 0).all()
