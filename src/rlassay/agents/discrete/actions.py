"""What agents of discrete actions share: action numbers in a batch, values of all actions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from rlassay.agents.agent import Agent, Shapes, TrainSettings, make_agent
from rlassay.agents.columns import Batch, Columns
from rlassay.kernel import nets


def batch_of(columns: Columns, rows: jax.Array, shapes: Shapes) -> Batch:
    """The named rows with actions as numbers (batch,); `shapes.action_dim` is how many there are."""
    batch = columns.batch(rows, Shapes(shapes.observation_dim, 1))
    numbers = (action[:, 0].astype(jnp.int32) for action in (batch.actions, batch.next_actions))
    return batch._replace(**dict(zip(("actions", "next_actions"), numbers, strict=True)))


def taken(values: jax.Array, actions: jax.Array) -> jax.Array:
    """Of values (..., batch, actions) those of the named actions: (..., batch)."""
    chosen = jnp.broadcast_to(actions, values.shape[:-1])[..., None]
    return jnp.take_along_axis(values, chosen, axis=-1)[..., 0]


def expected(values: jax.Array, logits: jax.Array) -> jax.Array:
    """Mean of values (..., actions) under the softmax of the logits."""
    return (jax.nn.softmax(logits) * values).sum(axis=-1)


def log_prob(logits: jax.Array, actions: jax.Array) -> jax.Array:
    """Log-probability of the named actions under the softmax of the logits."""
    return taken(jax.nn.log_softmax(logits), actions)


def greedy_act(layers: Callable[[Any], nets.Params]) -> Callable[[Any, jax.Array], jax.Array]:
    """The deterministic action of every agent here: the largest output of its network."""
    return lambda state, observations: nets.mlp(layers(state), observations).argmax(axis=-1)


def make_discrete(
    settings: TrainSettings,
    shapes: Shapes,
    init: Callable[..., Any],
    step: Callable[..., Any],
    *,
    layers: Callable[[Any], nets.Params],
) -> Agent:
    """`make_agent` for an agent that chooses the largest output."""
    return make_agent(settings, shapes, init, step, layers=layers, act=greedy_act)
