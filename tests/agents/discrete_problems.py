"""Problems of discrete actions with known values, small enough for tiny networks."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from probes import dataset
from rlassay.agents import DISCRETE_AGENTS, Shapes
from rlassay.agents.columns import make_columns
from rlassay.agents.training import make_settings
from rlassay.data.dataset import Dataset
from rlassay.kernel.fitting import fit, stack, unstack

TINY = {"width": 32, "depth": 2, "batch_size": 64, "learning_rate": 3e-3}
DISCOUNT = 0.9
ROWS = 1_500
BANDIT = np.array([[1.0, 3.0, 0.0], [2.0, -1.0, 0.5]])  # reward of each action in two places
HABIT = np.array([0.6, 0.2, 0.2])  # how often the bandit's actions are taken
# Two places; action 1 moves on, action 0 stays. From place 1 moving on ends with 5, staying anywhere costs 1.
CHAIN_Q = np.array([[-1 + DISCOUNT**2 * 5, DISCOUNT * 5], [-1 + DISCOUNT * 5, 5.0]])


def bandit() -> Dataset:
    """One-step episodes in two places; the habit prefers action 0 in both."""
    rng = np.random.default_rng(0)
    places, actions = rng.integers(0, 2, ROWS), rng.choice(3, ROWS, p=HABIT)
    return dataset(
        observations=np.eye(3)[places],
        actions=actions,
        rewards=BANDIT[places, actions],
        terminals=np.ones(ROWS, bool),
        bounds=None,
    )


def chain(length: int = 5) -> Dataset:
    """Walks from place 0 with both actions equally likely, which end in a terminal or are cut by a timeout."""
    rng = np.random.default_rng(1)
    rows: list[tuple] = []
    while len(rows) < ROWS:
        place = 0
        for step in range(length):
            action = int(rng.integers(2))
            ends = place == 1 and action == 1
            reward = 5.0 if ends else float(action - 1)
            after = min(place + action, 1)
            cut = step == length - 1 and not ends
            rows.append((place, action, reward, after, ends, cut))
            place = after
            if ends:
                break
    place, action, reward, after, ends, cut = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return dataset(
        observations=np.eye(3)[place],
        next_observations=np.eye(3)[after],
        actions=action,
        rewards=reward,
        terminals=ends,
        timeouts=cut,
        bounds=None,
    )


def assemble(name: str, data: Dataset, count: int, changes: dict):
    """The agent, its settings, and the packed data with its frame, without an environment."""
    kind, settings = DISCRETE_AGENTS[name], make_settings(name, changes, discrete=True)
    ends = np.array([0]), np.array([count - 1])
    columns, frame, _ = make_columns(data, kind, settings, *ends)
    return kind.make(settings, Shapes(data.observation_dim, count)), settings, columns, frame


def learn(name: str, data: Dataset, count: int, *, updates: int, **changes):
    """(final state, policy) after `updates` updates of a tiny network."""
    known = {field.name for field in fields(DISCRETE_AGENTS[name].settings)}
    changes = {k: v for k, v in (TINY | {"updates": updates} | changes).items() if k in known}
    made, settings, columns, frame = assemble(name, data, count, changes)
    state = fit(
        made.step,
        stack([made.init(0)]),
        columns,
        rows=len(columns.packed),
        steps=updates,
        batch_size=settings.batch_size,
        seeds=[0],
        chunk=200,
    )
    final = unstack(state, 0)
    return final, frame.policy(made.layers(final), {})
