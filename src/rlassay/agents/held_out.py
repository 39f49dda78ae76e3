"""Judging a cloned policy without a simulator: its error on actions of episodes it never saw.

The error is a share of what the best constant answer makes there: the mean action, or the frequencies of discrete ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.kernel.choices import frequency_loss, log_loss
from rlassay.policy import Policy
from rlassay.results.run import HeldOut
from rlassay.stats import Resampling, interval

SPLIT_STREAM = 13  # the split is the data's, so that all seeds are judged by the same episodes
MOST_ROWS = 20_000  # that judge
CONTINUOUS_UNIT = "squared action error, as a share of the mean action's"
DISCRETE_UNIT = "log-loss of actions, as a share of their frequencies'"


def split_rows(data: Dataset, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to learn from and to judge by: apart by whole episodes, or the end of a single one."""
    if len(data) < 2:
        raise DatasetError(
            f"{data.origin.source} has one transition", allowed="two or more, one to judge by"
        )
    if data.episode_count == 1:
        cut = min(max(1, round((1 - share) * len(data))), len(data) - 1)
        return np.arange(cut), np.arange(cut, len(data))
    order = np.random.default_rng(SPLIT_STREAM).permutation(data.episode_count)
    count = min(max(1, round(share * data.episode_count)), data.episode_count - 1)
    held = np.isin(data.episode_index, order[:count])
    return np.flatnonzero(~held), np.flatnonzero(held)


@dataclass(frozen=True)
class Examples:
    """Held-out rows, the episode of each, and the error of the best constant answer there."""

    observations: np.ndarray
    actions: np.ndarray
    episodes: np.ndarray
    scale: np.ndarray  # of each action dimension; 0 where it never moves
    constant: np.ndarray
    discrete: bool

    @classmethod
    def of(cls, data: Dataset, training: np.ndarray, held: np.ndarray, size: int) -> Examples:
        """The examples of a split; `size` is the number of discrete actions, from 0."""
        held = held[:: -(-len(held) // MOST_ROWS)]
        seen, actions = data.actions[training], data.actions[held]
        if data.discrete_actions:
            scale, constant = np.ones(1), frequency_loss(seen[:, 0], actions[:, 0], size)
        else:
            scale = _inverse_deviation(data.actions)
            constant = _squared(seen.mean(axis=0, dtype=np.float64) - actions, scale)
        if not constant.sum() > 0:
            raise DatasetError(
                f"the actions of {data.origin.source} are constant",
                remedy="a policy that never changes needs no training",
            )
        episodes = data.episode_index[held]
        found = data.observations[held], actions, episodes, scale, constant
        return cls(*found, data.discrete_actions)

    @property
    def unit(self) -> str:
        return DISCRETE_UNIT if self.discrete else CONTINUOUS_UNIT

    def judge(self, policy: Policy) -> HeldOut:
        """The policy's error relative to the constant answer's, with an interval over episodes."""
        errors = self.errors(policy)
        share = float(errors.sum() / self.constant.sum())
        # a ratio of two means varies as the mean of these does
        residuals = (errors - share * self.constant) / self.constant.mean()
        variance, groups = Resampling().variance([(residuals, self.episodes)])
        return HeldOut(share, interval([share], variance, groups, possible=(0.0, np.inf)))

    def errors(self, policy: Policy) -> np.ndarray:
        """Squared error in units of the actions' variance, or log-loss, row by row."""
        if not self.discrete:
            return _squared(policy(self.observations) - self.actions, self.scale)
        return log_loss(policy.outputs(self.observations), self.actions[:, 0])


def _squared(difference: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Mean over the dimensions that move."""
    scaled = np.asarray(difference, np.float64) * scale
    return (scaled**2).sum(axis=1) / max(np.count_nonzero(scale), 1)


def _inverse_deviation(actions: np.ndarray) -> np.ndarray:
    mean, deviation = actions.mean(axis=0, dtype=np.float64), actions.std(axis=0, dtype=np.float64)
    moving = deviation > 1e-6 * np.maximum(1.0, np.abs(mean))
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=moving)
