"""Offline control problems with a known optimum and a behaviour that is worse, small enough for tiny networks."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from probes import dataset
from rlassay.agents import AGENTS, Shapes
from rlassay.agents.columns import make_columns
from rlassay.agents.training import make_settings
from rlassay.data.dataset import Dataset
from rlassay.kernel.fitting import fit, stack, unstack

TINY = {"width": 32, "depth": 2, "batch_size": 64, "learning_rate": 3e-3}
BOUND = np.ones(1, np.float32)
ROWS = 1_500  # of every probe, and three observations: each agent compiles once


@dataclass(frozen=True)
class Probe:
    """Data, the states in which the action matters, the optimal action there, and the pass mark |a - a*| <= reach."""

    data: Dataset
    states: np.ndarray
    best: np.ndarray
    reach: float
    behaviour: np.ndarray  # the data's mean action there


def wide_bandit() -> Probe:
    """One-step episodes: behaviour is spread around 0, the reward prefers a = 0.6 by the square of the distance."""
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (ROWS, 3)), np.clip(rng.normal(0, 0.5, (ROWS, 1)), -1, 1)
    rewards = 4 * (1 - (actions - 0.6) ** 2)[:, 0]
    data = dataset(
        observations=states, actions=actions, rewards=rewards, terminals=np.ones(ROWS, bool)
    )
    shown, best = rng.uniform(-0.7, 0.7, (9, 3)), np.full((9, 1), 0.6)
    return Probe(data, shown, best, 0.35, np.zeros((9, 1)))


def two_modes() -> Probe:
    """One-step episodes with two habits, at +0.7 and -0.7, equally frequent; the state says which one earns 2."""
    rng = np.random.default_rng(1)
    places = rng.integers(0, 2, ROWS)
    actions = 0.7 * rng.choice([-1.0, 1.0], (ROWS, 1)) + 0.05 * rng.normal(size=(ROWS, 1))
    rewards = 3 * (2 * places - 1) * actions[:, 0]
    data = dataset(
        observations=np.eye(3)[places],
        actions=actions,
        rewards=rewards,
        terminals=np.ones(ROWS, bool),
    )
    return Probe(data, np.eye(3)[:2], np.array([[-0.7], [0.7]]), 0.35, np.zeros((2, 1)))


def stitching() -> Probe:
    """A corridor 0 - 1 - 2. No episode makes both good moves (a = 0.7), so the best path is in no single one.

    From place 0 the good move leads to 1, the bad one ends with -1. From 1 the good move earns 3, the bad one nothing;
    both end. Whoever starts in 0 and moves well moves badly in 1; the good move at 1 is made by others, who start there.
    """
    rng = np.random.default_rng(2)
    columns = {
        name: []
        for name in ("observations", "next_observations", "actions", "rewards", "terminals")
    }

    def add(place, following, action, reward, terminal):
        noisy = action + 0.05 * rng.normal()
        row = (np.eye(3)[place], np.eye(3)[following], [noisy], reward, terminal)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    for number in range(ROWS * 4 // 5):
        kind = number % 4
        if kind == 0:  # good, then bad: no reward
            add(0, 1, 0.7, 0.0, False)
            add(1, 2, -0.7, 0.0, True)
        elif kind == 1:  # good at the second place
            add(1, 2, 0.7, 3.0, True)
        else:  # bad at the first place
            add(0, 2, -0.7, -1.0, True)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    data = dataset(**arrays)
    return Probe(data, np.eye(3)[:2], np.full((2, 1), 0.7), 0.45, np.array([[-0.23], [0.0]]))


PROBES = {"wide_bandit": wide_bandit, "two_modes": two_modes, "stitching": stitching}


def assemble(name: str, data: Dataset, changes: dict):
    """The agent, its settings, and the packed data with its frame, without an environment."""
    kind, settings = AGENTS[name], make_settings(name, changes)
    columns, frame, _ = make_columns(data, kind, settings, -BOUND, BOUND)
    made = kind.make(settings, Shapes(data.observation_dim, data.action_dim))
    return made, settings, columns, frame


def learn(agent: str, data: Dataset, *, updates: int, seed: int = 0, **changes):
    """(agent, final state, policy) after `updates` updates of a tiny network."""
    known = {field.name for field in fields(AGENTS[agent].settings)}
    changes = {k: v for k, v in (TINY | {"updates": updates} | changes).items() if k in known}
    made, settings, columns, frame = assemble(agent, data, changes)
    each = made.updates_per_step
    state = fit(
        made.step,
        stack([made.prepare(made.init(seed), columns, seed)]),
        columns,
        rows=len(columns.packed),
        steps=-(-updates // each),
        batch_size=settings.batch_size * each,
        seeds=[seed],
        chunk=200,
    )
    final = unstack(state, 0)
    return made, final, frame.policy(made.layers(final), {})
