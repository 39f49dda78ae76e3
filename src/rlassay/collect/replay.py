"""A replay buffer in memory with an append-only file behind it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from rlassay.engine.faults import reached
from rlassay.errors import DatasetError


def row_type(observation_dim: int, action_dim: int) -> np.dtype:
    """One row of the replay file; actions are scaled to [-1, 1]."""
    return np.dtype(
        [
            ("observation", np.float32, (observation_dim,)),
            ("action", np.float32, (action_dim,)),
            ("reward", np.float32),
            ("following", np.float32, (observation_dim,)),
            ("terminal", np.bool_),
            ("timeout", np.bool_),
        ]
    )


def read_rows(path: Path, observation_dim: int, action_dim: int, count: int) -> np.ndarray:
    """The first `count` rows of a replay file."""
    return _read(path, row_type(observation_dim, action_dim), count)


def _read(path: Path, dtype: np.dtype, count: int) -> np.ndarray:
    stored = np.fromfile(path, dtype=dtype, count=count) if path.exists() else np.zeros(0, dtype)
    if len(stored) < count:
        raise DatasetError(
            f"{path} holds {len(stored):,} of {count:,} rows",
            remedy="the run's folder is damaged; remove it and train again",
        )
    return stored


class Replay:
    """Rows (observation, action, reward, next observation, terminal, timeout); timeouts are kept apart from terminals.

    `flush` appends the new rows to the file. A reader that knows a saved count reads just that many: whatever a killed
    run wrote behind them is overwritten by the next `flush`.
    """

    def __init__(self, path: Path, observation_dim: int, action_dim: int, capacity: int):
        self.path, self.capacity = Path(path), capacity
        self.rows = np.zeros(capacity, dtype=row_type(observation_dim, action_dim))
        self.count = self.flushed = 0

    def add(self, observation, action, reward, following, terminal, timeout) -> None:
        self.rows[self.count] = (observation, action, reward, following, terminal, timeout)
        self.count += 1

    def sample(self, indices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Columns for updates: observation, action, reward, next observation, 1 - terminal."""
        rows = self.rows[indices]
        return (
            np.ascontiguousarray(rows["observation"]),
            np.ascontiguousarray(rows["action"]),
            np.ascontiguousarray(rows["reward"]),
            np.ascontiguousarray(rows["following"]),
            1.0 - rows["terminal"].astype(np.float32),
        )

    def flush(self) -> None:
        """Write the rows added since the last flush, and wait until the disk has them."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "r+b" if self.path.exists() else "w+b") as file:
                reached("opened", self.path)
                file.seek(self.flushed * self.rows.itemsize)
                file.write(self.rows[self.flushed : self.count].tobytes())
                file.flush()
                os.fsync(file.fileno())
                reached("written", self.path)
        except OSError as error:
            raise DatasetError(
                f"cannot write {self.path} ({error.strerror or error})",
                remedy="free some space and run the same command again: it continues where it stopped",
            ) from None
        self.flushed = self.count

    def restore(self, count: int) -> None:
        """Take the first `count` rows from the file."""
        self.rows[:count] = _read(self.path, self.rows.dtype, count)
        self.count = self.flushed = count
