"""A replay buffer in memory with an append-only file behind it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np


class Replay:
    """Rows (observation, action, reward, next observation, terminal, timeout); timeouts are kept apart from terminals.

    `flush` appends the new rows to the file. A reader that knows a saved count reads just that many: whatever a killed
    run wrote behind them is overwritten by the next `flush`.
    """

    def __init__(self, path: Path, observation_dim: int, action_dim: int, capacity: int):
        self.path, self.capacity = Path(path), capacity
        fields = [
            ("observation", np.float32, (observation_dim,)),
            ("action", np.float32, (action_dim,)),
            ("reward", np.float32),
            ("following", np.float32, (observation_dim,)),
            ("terminal", np.bool_),
            ("timeout", np.bool_),
        ]
        self.rows = np.zeros(capacity, dtype=fields)
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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "r+b" if self.path.exists() else "w+b") as file:
            file.seek(self.flushed * self.rows.itemsize)
            file.write(self.rows[self.flushed : self.count].tobytes())
            file.flush()
            os.fsync(file.fileno())
        self.flushed = self.count

    def restore(self, count: int) -> None:
        """Take the first `count` rows from the file."""
        stored = np.fromfile(self.path, dtype=self.rows.dtype, count=count)
        if len(stored) < count:
            raise OSError(f"{self.path} holds {len(stored)} of {count} rows")
        self.rows[:count] = stored
        self.count = self.flushed = count
