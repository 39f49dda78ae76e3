"""Small problems with known answers: chains, bandits and episodes of a given shape."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rlassay
from rlassay.data.dataset import Dataset, Origin

MEAN_ACTION = 1 / 3  # of the chain's behaviour


def python_path(*folders: Path) -> str:
    """PYTHONPATH for a child process: these folders, the very code under test, and what was there before."""
    code = Path(rlassay.__file__).parent.parent
    known = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*map(str, folders), str(code), *([known] if known else [])])


@dataclass(frozen=True)
class Chain:
    """Two states; the action earns `slope * a` and does not steer. Behaviour draws a = 2 sqrt(u) - 1, u uniform.

    Its actions cover [-1, 1] with mean 1/3 and mean square 1/3.

    With V = mean reward + discount * P V everything is known in closed form, for behaviour and for random actions.
    """

    rewards: tuple[float, float] = (1.0, -1.0)
    stay: tuple[float, float] = (0.8, 0.6)  # probability of remaining in each state
    slope: float = 2.0
    discount: float = 0.9

    @property
    def transitions(self) -> np.ndarray:
        first, second = self.stay
        return np.array([[first, 1 - first], [1 - second, second]])

    @property
    def v(self) -> np.ndarray:
        """V(s) of the behaviour."""
        mean = np.array(self.rewards) + self.slope * MEAN_ACTION
        return np.linalg.solve(np.eye(2) - self.discount * self.transitions, mean)

    def q(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Q(s, a) for state numbers and actions."""
        after = self.discount * self.transitions @ self.v
        return np.array(self.rewards)[states] + self.slope * actions + after[states]

    @property
    def stationary(self) -> np.ndarray:
        first, second = self.stay
        weights = np.array([1 - second, 1 - first])
        return weights / weights.sum()

    @property
    def pd(self) -> float:
        """E[Q(s, a') - V(s)] with a' uniform on [-1, 1]."""
        return -self.slope * MEAN_ACTION

    def data(self, episodes: int = 60, length: int = 100, seed: int = 0) -> Dataset:
        """Episodes that start in the stationary distribution and are cut by timeouts."""
        rng = np.random.default_rng(seed)
        state = (rng.random(episodes) < self.stationary[1]).astype(int)
        states = np.empty((episodes, length + 1), int)
        for t in range(length + 1):
            states[:, t] = state
            remains = rng.random(episodes) < np.array(self.stay)[state]
            state = np.where(remains, state, 1 - state)
        actions = 2 * np.sqrt(rng.random((episodes, length))) - 1
        rewards = np.array(self.rewards)[states[:, :-1]] + self.slope * actions
        return dataset(
            observations=one_hot(states[:, :-1].ravel()),
            next_observations=one_hot(states[:, 1:].ravel()),
            actions=actions.reshape(-1, 1),
            rewards=rewards.ravel(),
            timeouts=np.arange(episodes * length) % length == length - 1,
        )


def one_hot(states: np.ndarray) -> np.ndarray:
    return np.eye(2)[states]


def dataset(
    *, terminals=None, bounds: float | None = 1.0, env_id=None, source="probe", **columns
) -> Dataset:
    """A Dataset with float32 columns and action bounds of +-`bounds`."""
    rows = len(columns["actions"])
    columns = {
        name: np.asarray(value, np.float32) if np.asarray(value).dtype == np.float64 else value
        for name, value in columns.items()
    }
    edge = None if bounds is None else np.full(np.shape(columns["actions"])[1], bounds)
    origin = Origin(
        source=source, env_id=env_id, action_low=None if edge is None else -edge, action_high=edge
    )
    terminals = np.zeros(rows, bool) if terminals is None else terminals
    return Dataset.from_columns(terminals=terminals, origin=origin, **columns)


def bandit(rows: int = 2_000, seed: int = 0) -> Dataset:
    """One-step episodes that end: r = a * s, so Q(s, a) = a * s exactly; a uniform on [-1, 1], s on [0, 2]."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(0, 2, (rows, 1)), rng.uniform(-1, 1, (rows, 1))
    return dataset(
        observations=states,
        actions=actions,
        rewards=(states * actions)[:, 0],
        terminals=np.ones(rows, bool),
    )


def walks(
    episodes: int = 50,
    length: int = 30,
    seed: int = 0,
    dims: tuple[int, int] = (3, 2),
    level: float = 1.0,
    **more,
) -> Dataset:
    """Random walks whose reward depends on state and action; each episode has its own level, of deviation `level`. Cut by timeouts."""
    rng = np.random.default_rng(seed)
    observation_dim, action_dim = dims
    rows = episodes * length
    steps = rng.normal(size=(episodes, length + 1, observation_dim)) * 0.3
    states = np.cumsum(steps, axis=1)
    actions = np.tanh(states[:, :-1, :1] + 0.5 * rng.normal(size=(episodes, length, action_dim)))
    levels = level * rng.normal(size=(episodes, 1))
    rewards = levels + actions[..., 0] - 0.1 * states[:, :-1, 0] ** 2
    return dataset(
        observations=states[:, :-1].reshape(rows, -1),
        next_observations=states[:, 1:].reshape(rows, -1),
        actions=actions.reshape(rows, -1),
        rewards=rewards.ravel(),
        timeouts=np.arange(rows) % length == length - 1,
        **more,
    )


def with_columns(data: Dataset, **changes) -> Dataset:
    """The same dataset with some columns replaced; `None` removes rewards."""
    names = (
        "observations",
        "actions",
        "rewards",
        "next_observations",
        "terminals",
        "timeouts",
        "next_valid",
    )
    columns = {name: getattr(data, name) for name in names} | changes
    return Dataset.from_columns(**columns, episode_starts=data.episode_starts, origin=data.origin)


def duplicated(data: Dataset) -> Dataset:
    """Every episode twice."""
    return data.select(np.tile(np.arange(data.episode_count), 2))


def permuted(data: Dataset, seed: int = 0) -> Dataset:
    """The episodes in another order."""
    return data.select(np.random.default_rng(seed).permutation(data.episode_count))
