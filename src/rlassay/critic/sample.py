"""Which rows a critic is trained on and which are kept for its diagnosis: whole episodes, seeded, capped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.data.dataset import Dataset

MOST_HELD_OUT_ROWS = 25_000
LONGEST_HELD_OUT = (
    5_000  # rows of one held-out episode; enough for complete returns up to discount .999
)
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

    @property
    def number(self) -> np.ndarray:
        """The stretch of every row."""
        return np.repeat(
            np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.rows)))
        )


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
