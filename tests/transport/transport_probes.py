"""Transport problems with known answers: states, actions and critics given by formulas."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from rlassay.transport import Problem

STATE_DIM = 3
OFFSET = -40.0  # most values are negative


def q_apply(params, states, actions):
    """scale * (offset + sin(2 s0) + s1 s2 / 2 + a' s / 2) + linear * sum(a)."""
    base = jnp.sin(2 * states[:, 0]) + states[:, 1] * states[:, 2] / 2
    mixed = params["mixed"] * actions[:, 0] * states[:, 0]
    return params["scale"] * (params["offset"] + base + mixed) + params["linear"] * actions.sum(-1)


def critic(seeds: int = 1, **changes: float):
    """Parameters of `q_apply` for so many seeds."""
    values = {"scale": 1.0, "offset": OFFSET, "mixed": 0.5, "linear": 0.3} | changes
    return {name: jnp.full((seeds,), value, jnp.float32) for name, value in values.items()}


def problem(behaviour, *, rows=120_000, dim=1, evaluate=20_000, params=None, seed=0) -> Problem:
    """States N(0,1) in three dimensions, actions from `behaviour(states, rng)`, episodes of 20 rows."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(rows, STATE_DIM)).astype(np.float32)
    actions = np.asarray(behaviour(states, rng), np.float32).reshape(rows, dim)
    return Problem(
        states=states,
        actions=actions,
        episodes=np.arange(rows) // 20,
        low=-np.ones(dim),
        high=np.ones(dim),
        q_apply=q_apply,
        q_params=critic() if params is None else params,
        training_rows=np.arange(rows - evaluate),
        evaluation_rows=np.arange(rows - evaluate, rows),
    )


def deterministic(states, rng):
    """One action per state: the product is the only coupling."""
    return np.tanh(states @ np.array([[1.0], [-0.5], [0.3]]))


def uniform(states, rng):
    return rng.uniform(-1, 1, (len(states), 1))


def plane(states, rng):
    """Two independent dimensions of action."""
    return rng.uniform(-1, 1, (len(states), 2))


def gaussian(states, rng):
    return rng.normal(0.3, 0.7, (len(states), 1))


def small(behaviour=uniform, **changes) -> Problem:
    """A problem for tests that ask only whether something changes, or stays finite."""
    return problem(behaviour, **{"rows": 800, "evaluate": 400} | changes)


def manhattan(q_data, q_random, actions, random_actions):
    """A user's cost in plain NumPy."""
    return q_random - q_data / 2 + np.abs(actions - random_actions).sum(-1)


def wrong_shape(q_data, q_random, actions, random_actions):
    return np.abs(actions - random_actions)


def not_finite(q_data, q_random, actions, random_actions):
    return q_random / 0.0 * 0.0
