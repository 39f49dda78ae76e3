"""Small problems with numbered actions and known answers: a chain that actions do not steer, and a bandit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probes import one_hot
from rlassay.data.dataset import Dataset, Origin

LAW = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])  # of the action, in each state
GAIN = np.array([0.0, 1.0, -2.0])  # what each action earns


def numbered(
    actions, *, first: int = 0, count: int | None = None, env_id=None, **columns
) -> Dataset:
    """A Dataset of integer actions; `count` is stated by the file."""
    stated = count is not None
    origin = Origin(
        source="numbered",
        env_id=env_id,
        action_low=np.array([first]) if stated else None,
        action_high=np.array([first + count - 1]) if count is not None else None,
    )
    actions = np.asarray(actions).reshape(len(actions), -1)
    return Dataset.from_columns(actions=actions, origin=origin, **columns)


def drawn(rng: np.random.Generator, law: np.ndarray) -> np.ndarray:
    """One action a row of probabilities."""
    return (rng.random((len(law), 1)) > np.cumsum(law, axis=1)).sum(axis=1)


@dataclass(frozen=True)
class DiscreteChain:
    """Two states; action a earns GAIN[a] and does not steer. Q, V and PD are known in closed form."""

    rewards: tuple[float, float] = (1.0, -1.0)
    stay: tuple[float, float] = (0.8, 0.6)
    discount: float = 0.5
    first: int = 0

    @property
    def transitions(self) -> np.ndarray:
        first, second = self.stay
        return np.array([[first, 1 - first], [1 - second, second]])

    @property
    def v(self) -> np.ndarray:
        mean = np.array(self.rewards) + LAW @ GAIN
        return np.linalg.solve(np.eye(2) - self.discount * self.transitions, mean)

    @property
    def q(self) -> np.ndarray:
        """Q of every state and action."""
        after = self.discount * self.transitions @ self.v
        return (np.array(self.rewards) + after)[:, None] + GAIN

    @property
    def stationary(self) -> np.ndarray:
        first, second = self.stay
        weights = np.array([1 - second, 1 - first])
        return weights / weights.sum()

    @property
    def pd(self) -> float:
        return float(self.stationary @ (self.q.mean(axis=1) - self.v))

    @property
    def distance(self) -> float:
        """E[Q(s, a') - 1{a' != a}], a' any action alike: the cost `paper` at its optimum."""
        return float(self.stationary @ self.q.mean(axis=1)) - 2 / 3

    def data(self, episodes: int = 120, length: int = 60, seed: int = 0, **more) -> Dataset:
        rng = np.random.default_rng(seed)
        state = (rng.random(episodes) < self.stationary[1]).astype(int)
        states = np.empty((episodes, length + 1), int)
        for t in range(length + 1):
            states[:, t] = state
            state = np.where(rng.random(episodes) < np.array(self.stay)[state], state, 1 - state)
        now = states[:, :-1].ravel()
        actions = drawn(rng, LAW[now])
        rows = episodes * length
        return numbered(
            self.first + actions,
            **{"count": 3, "first": self.first} | more,
            observations=one_hot(now),
            next_observations=one_hot(states[:, 1:].ravel()),
            rewards=np.array(self.rewards)[now] + GAIN[actions],
            terminals=np.zeros(rows, bool),
            timeouts=np.arange(rows) % length == length - 1,
        )


BANDIT_Q = np.array([[1.0, 0.0, 2.0], [-1.0, 3.0, 0.5]])


def discrete_bandit(rows: int = 3_000, seed: int = 0, **more) -> Dataset:
    """One-step episodes that end: the reward of an action in a context is BANDIT_Q exactly."""
    rng = np.random.default_rng(seed)
    context = rng.integers(0, 2, rows)
    actions = drawn(rng, LAW[context])
    return numbered(
        actions,
        observations=one_hot(context),
        rewards=BANDIT_Q[context, actions],
        terminals=np.ones(rows, bool),
        **more,
    )
