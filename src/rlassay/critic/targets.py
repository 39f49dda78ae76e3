"""What a critic learns from: which rows, whole episodes, seeded and capped, and what each of them is worth.

Rows are chosen (`split_episodes`), gathered and scaled (`training_columns`), and their targets are sums along episodes in
NumPy, float64, linear in the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.critic.model import Critic, Scaling
from rlassay.data.dataset import Dataset

MOST_HELD_OUT_ROWS = 25_000
LONGEST_HELD_OUT = 5_000  # rows of one held-out episode; complete returns up to discount .999
FEWEST_HELD_OUT = 20  # episodes below which no verdict is given


@dataclass(frozen=True)
class Trajectories:
    """Rows of a dataset that lie one behind the other in episodes or parts of them."""

    rows: np.ndarray  # row numbers in the dataset
    starts: np.ndarray  # where each stretch begins, in `rows`

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def last(self) -> np.ndarray:
        """The position of each stretch's last row."""
        return np.append(self.starts[1:], len(self.rows))[: len(self.starts)] - 1


def split_episodes(
    data: Dataset, rows: int, holdout: float, seed: int
) -> tuple[Trajectories, Trajectories]:
    """Training rows (at most `rows`) and held-out rows, by whole episodes; an episode beyond the cap is cut."""
    rng = np.random.default_rng([seed, 101])
    order = rng.permutation(data.episode_count)
    held = held_out_count(data.episode_count, holdout)
    return _training(data, order[held:], rows, rng), _held_out(data, order[:held])


def split_rows(
    data: Dataset, rows: int, holdout: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and to hold out: apart by episodes, or the last part of each when episodes are few."""
    training, held = split_episodes(data, rows, holdout, seed)
    if len(held):
        return training.rows, held.rows
    position = np.arange(len(data)) - data.episode_starts[data.episode_index]
    late = position >= np.ceil((1 - holdout) * data.episode_lengths)[data.episode_index]
    if not late.any():  # one-step episodes, too few to part
        return training.rows, training.rows
    return np.flatnonzero(~late)[:rows], np.flatnonzero(late)[:MOST_HELD_OUT_ROWS]


def held_out_count(episodes: int, holdout: float) -> int:
    """The share asked for, raised to 20 episodes where that leaves as many for training."""
    wanted = int(holdout * episodes)
    if holdout > 0 and episodes >= 2 * FEWEST_HELD_OUT:
        wanted = max(wanted, FEWEST_HELD_OUT)
    return wanted


def _training(data: Dataset, episodes: np.ndarray, cap: int, rng) -> Trajectories:
    lengths = data.episode_lengths[episodes]
    count = int(np.searchsorted(np.cumsum(lengths) - lengths, cap))
    starts, lengths = data.episode_starts[episodes[:count]], lengths[:count].copy()
    excess = int(lengths.sum()) - cap
    if excess > 0:  # cut the last episode to a window of what still fits
        starts = starts.copy()
        starts[-1] += rng.integers(0, excess + 1)
        lengths[-1] -= excess
    return _joined(starts, lengths)


def _held_out(data: Dataset, episodes: np.ndarray) -> Trajectories:
    lengths = np.minimum(data.episode_lengths[episodes], LONGEST_HELD_OUT)
    count = int(np.searchsorted(np.cumsum(lengths) - lengths, MOST_HELD_OUT_ROWS))
    count = min(max(count, FEWEST_HELD_OUT), len(episodes))
    return _joined(data.episode_starts[episodes[:count]], lengths[:count])


def _joined(starts: np.ndarray, lengths: np.ndarray) -> Trajectories:
    if len(starts) == 0:
        return Trajectories(np.zeros(0, np.int64), np.zeros(0, np.int64))
    begins = np.cumsum(lengths) - lengths
    rows = np.repeat(starts - begins, lengths) + np.arange(lengths.sum())
    return Trajectories(rows, begins)


# -- columns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Scaled training rows in the order of their episodes; NumPy, float32 inputs and float64 rewards."""

    inputs: np.ndarray
    following: np.ndarray  # scaled next observation, then the next action where it is known
    rewards: np.ndarray
    starts: np.ndarray
    last: np.ndarray  # the last row of each episode or part of one
    terminal: np.ndarray  # of every row
    known: np.ndarray  # the next observation is known
    observation_dim: int


def training_columns(data: Dataset, chosen: Trajectories, scaling: Scaling) -> Columns:
    """Gather and scale the chosen rows."""
    rows = chosen.rows
    assert data.rewards is not None
    inputs = scaling.inputs(data.observations[rows], data.actions[rows])
    following = np.concatenate([inputs[1:], inputs[-1:]])
    last = chosen.last
    after = scaling.observations(data.next_observations[rows[last]])
    following[last] = np.concatenate([after, inputs[last, data.observation_dim :]], axis=1)
    return Columns(
        inputs,
        following,
        data.rewards[rows].astype(np.float64),
        chosen.starts,
        last,
        data.terminals[rows],
        data.next_valid[rows],
        data.observation_dim,
    )


# -- returns ---------------------------------------------------------------------------------------------------------


def sums_along(values: np.ndarray, starts: np.ndarray, factor: float) -> np.ndarray:
    """y[t] = values[t] + factor * y[t + 1] within each episode, and y = values at its last row.

    By doubling: after k rounds y[t] holds the sum over the next 2^k rows, so a few rounds over all rows replace a loop
    over time. It ends when an episode is covered or the weight has vanished.
    """
    total = np.array(values, np.float64)
    left = rows_left(starts, len(total))
    reach, weight = 1, float(factor)
    while reach < left.max(initial=0) and weight > 1e-20:
        ahead = np.where(left[:-reach] > reach, total[reach:], 0.0)
        total[:-reach] += weight * ahead
        reach, weight = 2 * reach, weight * weight
    return total


def rows_left(starts: np.ndarray, rows: int) -> np.ndarray:
    """How many rows remain in the episode, the row itself included."""
    stops = np.append(starts[1:], rows)
    return np.repeat(stops, stops - starts) - np.arange(rows)


def constant_bootstrap(
    rewards: np.ndarray, starts: np.ndarray, open_end: np.ndarray, discount: float
) -> tuple[np.ndarray, float]:
    """Returns whose unfinished episodes continue with one constant, the mean of these same returns.

    `open_end` is True for each row of an episode that was cut, not ended. The returns are affine in the constant, so
    the constant that equals their mean is known in closed form. Shifting or scaling rewards shifts or scales it along.
    """
    finished = sums_along(rewards, starts, discount)
    weight = np.where(open_end, discount ** rows_left(starts, len(rewards)), 0.0)
    constant = float(finished.mean() / (1.0 - weight.mean()))
    return finished + weight * constant, constant


def first_returns(columns: Columns, discount: float) -> np.ndarray:
    """Targets before there is a critic: unfinished episodes continue with one constant."""
    open_end = ~columns.terminal[columns.last]
    lengths = np.diff(np.append(columns.starts, len(columns.inputs)))
    cut = np.repeat(open_end, lengths)
    return constant_bootstrap(columns.rewards, columns.starts, cut, discount)[0]


def usable_rows(columns: Columns) -> np.ndarray:
    """Rows whose return is known: all but those behind which neither a state nor a terminal is recorded."""
    usable = np.ones(len(columns.inputs), bool)
    usable[columns.last] = columns.terminal[columns.last] | columns.known[columns.last]
    return np.flatnonzero(usable)


def lambda_returns(
    rewards: np.ndarray,
    following: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    discount: float,
    trace_decay: float,
) -> np.ndarray:
    """G[t] = r[t] + discount * ((1 - lambda) * following[t] + lambda * G[t + 1]), and `ends` at each last row.

    `following[t]` is the critic's value of the next row; `ends` holds one value an episode: what its last row is worth.
    """
    mixed = rewards + discount * (1.0 - trace_decay) * following
    last = np.append(starts[1:], len(rewards)) - 1
    mixed[last] = ends
    return sums_along(mixed, starts, discount * trace_decay)


def bootstrapped_returns(
    critic: Critic, member: int, columns: Columns, values: np.ndarray | None = None
) -> np.ndarray:
    """Lambda-returns with the critic's values (`values`, where they are known already): bootstrapped behind a cut,
    ended by a terminal."""
    values = critic.q_at(member, columns.inputs) if values is None else values
    following = np.append(values[1:], 0.0)
    return lambda_returns(
        columns.rewards,
        following,
        columns.starts,
        end_values(critic, member, columns, values),
        critic.settings.discount,
        critic.settings.trace_decay,
    )


def end_values(critic: Critic, member: int, columns: Columns, values: np.ndarray) -> np.ndarray:
    """What the last row of each episode is worth: its reward, the reward and V behind it, or its own Q."""
    last = columns.last
    after = critic.v_at(member, columns.following[last, : columns.observation_dim])
    continues = np.where(columns.terminal[last], 0.0, critic.settings.discount)
    ends = columns.rewards[last] + continues * after
    return np.where(columns.terminal[last] | columns.known[last], ends, values[last])
