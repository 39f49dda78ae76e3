"""The one internal form of offline data: frozen columns, episodes, and what may follow what.

Row t is (observation, action, reward, next observation, terminal, timeout). A terminal ends the task: nothing is
bootstrapped. A timeout cuts an episode that would have gone on. An episode may also end with neither flag (an
unfinished recording). Every reader builds a `Dataset` through `from_columns`, so these rules live here alone.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.blocks import BlockColumn, blocks_of, mean_and_deviation, selected_rows, span_rows
from rlassay.errors import DatasetError
from rlassay.rendering import draw

COLUMNS = (
    "observations",
    "actions",
    "rewards",
    "next_observations",
    "terminals",
    "timeouts",
    "next_valid",
)


@dataclass(frozen=True)
class Note:
    """Something a reader noticed and the user should know: `rows` names the places, `remedy` what to do."""

    code: str
    message: str
    remedy: str = ""
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Origin:
    """Where the data came from and what the file said about it."""

    source: str = "arrays"
    format: str = "arrays"
    env_id: str | None = None
    action_low: np.ndarray | None = None
    action_high: np.ndarray | None = None
    notes: tuple[Note, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)  # JSON values the file carried along
    extras: Mapping[str, np.ndarray] = field(
        default_factory=dict
    )  # further arrays, for `convert` only
    # returns that score 0 and 100, where the source says
    reference: tuple[float, float] | None = None
    pinned: Mapping[str, str] | None = None  # of a hub: its name, the repository and the revision
    reading: Mapping[str, Any] = field(default_factory=dict)  # options of `load` that were given


class Episode:
    """One episode: its number, its rows as a slice, and views of the columns."""

    def __init__(self, data: Dataset, index: int):
        self._data = data
        self.index = index
        self.start = int(data.episode_starts[index])
        self.stop = int(data.episode_stops[index])

    def __len__(self) -> int:
        return self.stop - self.start

    def __getattr__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise AttributeError(name)
        column = getattr(self._data, name)
        return None if column is None else column[self.start : self.stop]


class Dataset:
    """Frozen columns of offline data. Build one with `rlassay.load` or `Dataset.from_columns`.

    `rewards` is None when the source has none. `next_valid` is False where the successor of a row is unknown; there
    `next_observations` repeats the row's own observation and nothing reads it.
    """

    def __init__(self, columns: Mapping[str, Any], episode_starts: np.ndarray, origin: Origin):
        self._columns = dict(
            columns
        )  # name -> array; or (array, rows) or a function, settled at first use
        self.episode_starts = _frozen(np.asarray(episode_starts, np.int64))
        self.origin = origin
        flags = self._columns["terminals"]
        self._length = len(flags[1]) if isinstance(flags, tuple) else len(flags)

    @classmethod
    def from_columns(
        cls,
        *,
        observations: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray | None,
        terminals: np.ndarray,
        timeouts: np.ndarray | None = None,
        next_observations: np.ndarray | None = None,
        next_valid: np.ndarray | None = None,
        episode_starts: Sequence[int] | np.ndarray | None = None,
        origin: Origin | None = None,
    ) -> Dataset:
        """Check the columns and settle episodes, flags and successors.

        Episodes end at terminals and timeouts, and wherever `episode_starts` begins another one. Without
        `next_observations` the successor of a row is the next row of its episode, and unknown at the episode's end.
        """
        origin = origin or Origin()
        rows = checks.row_count(observations)
        observations = checks.matrix("observations", observations, rows, integers=False)
        actions = checks.matrix("actions", actions, rows, integers=True)
        rewards = None if rewards is None else checks.vector("rewards", rewards, rows)
        terminals = checks.flags("terminals", terminals, rows)
        timeouts = np.zeros(rows, bool) if timeouts is None else timeouts
        timeouts = checks.flags("timeouts", timeouts, rows)
        timeouts, origin = _terminal_wins(terminals, timeouts, origin)
        starts = checks.episode_starts(terminals | timeouts, episode_starts)
        following, valid = checks.successors(observations, next_observations, next_valid, starts)
        values = (observations, actions, rewards, following, terminals, timeouts, valid)
        columns = {n: _frozen(value) for n, value in zip(COLUMNS, values, strict=True)}
        return cls(columns, starts, origin)

    # -- columns -------------------------------------------------------------------------------------------------

    def _column(self, name: str) -> Any:
        value = self._columns[name]
        if isinstance(value, tuple):
            base, rows = value
            value = self._columns[name] = _frozen(base[rows])
        elif callable(value):
            value = self._columns[name] = _frozen(value())
        return value

    observations: np.ndarray = property(lambda self: self._column("observations"))  # type: ignore[assignment]
    actions: np.ndarray = property(lambda self: self._column("actions"))  # type: ignore[assignment]
    rewards: np.ndarray | None = property(lambda self: self._column("rewards"))  # type: ignore[assignment]
    next_observations: np.ndarray = property(lambda self: self._column("next_observations"))  # type: ignore[assignment]
    terminals: np.ndarray = property(lambda self: self._column("terminals"))  # type: ignore[assignment]
    timeouts: np.ndarray = property(lambda self: self._column("timeouts"))  # type: ignore[assignment]
    next_valid: np.ndarray = property(lambda self: self._column("next_valid"))  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return (
            f"Dataset({self.origin.source!r}, {len(self):,} transitions, {self.episode_count:,} episodes, "
            f"observations of {self.observation_dim}, actions of {self.action_dim})"
        )

    def _repr_html_(self) -> str:
        return draw("dataset_html", self)

    def to_frame(self) -> Any:
        """The episodes as a table of pandas or polars: number, first row, length, return, how it ended."""
        from rlassay.results.frames import dataset_frame

        return dataset_frame(self)

    @property
    def observation_dim(self) -> int:
        return int(self.observations.shape[1])

    @property
    def action_dim(self) -> int:
        return int(self.actions.shape[1])

    @property
    def streamed(self) -> bool:
        """Whether some columns stay on the disk and are read in blocks."""
        return any(isinstance(column, BlockColumn) for column in self._columns.values())

    @property
    def discrete_actions(self) -> bool:
        return np.issubdtype(self.actions.dtype, np.integer)

    @property
    def env_id(self) -> str | None:
        return self.origin.env_id

    # -- episodes ------------------------------------------------------------------------------------------------

    @property
    def episode_count(self) -> int:
        return len(self.episode_starts)

    @functools.cached_property
    def episode_stops(self) -> np.ndarray:
        """The row behind each episode's last."""
        return _frozen(np.append(self.episode_starts[1:], len(self)))

    @property
    def episode_lengths(self) -> np.ndarray:
        return self.episode_stops - self.episode_starts

    @functools.cached_property
    def episode_index(self) -> np.ndarray:
        """The episode number of every row."""
        return _frozen(np.repeat(np.arange(self.episode_count), self.episode_lengths))

    @functools.cached_property
    def episode_returns(self) -> np.ndarray:
        """Undiscounted return of every episode, summed in float64."""
        if self.rewards is None:
            raise DatasetError(
                f"{self.origin.source} has no rewards, so its episodes have no returns",
                remedy="use the scores that need no reward",
            )
        return _frozen(np.add.reduceat(self.rewards.astype(np.float64), self.episode_starts))

    def episode(self, index: int) -> Episode:
        return Episode(self, index)

    def episodes(self) -> Iterator[Episode]:
        return (Episode(self, index) for index in range(self.episode_count))

    def select(self, episodes: Sequence[int] | np.ndarray) -> Dataset:
        """The named episodes, in the order given. A contiguous run is a view; other columns are gathered when used."""
        chosen = np.asarray(episodes, np.int64)
        if chosen.ndim != 1 or len(chosen) == 0:
            raise DatasetError("no episode is selected", remedy="name at least one episode")
        if chosen.min() < 0 or chosen.max() >= self.episode_count:
            raise DatasetError(
                "an episode number is out of range",
                allowed=f"0 to {self.episode_count - 1}",
                got=f"{chosen.min()} to {chosen.max()}",
            )
        first, lengths = self.episode_starts[chosen], self.episode_lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        run = np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen)))
        rows: Any = slice(first[0], first[0] + lengths.sum()) if run else span_rows(first, lengths)

        def taken(column: Any) -> Any:
            if isinstance(column, BlockColumn):
                return selected_rows(column, first, lengths)
            return column[rows] if run else (column, rows)

        known = {name: self._column(name) for name in COLUMNS}
        columns = {
            name: None if column is None else taken(column) for name, column in known.items()
        }
        return Dataset(columns, starts, replace(self.origin, notes=(), extras={}))

    def in_memory(self) -> Dataset:
        """The same data with every column as an array."""
        if not self.streamed:
            return self
        columns = {
            name: np.array(column) if isinstance(column, BlockColumn) else column
            for name, column in self._columns.items()
        }
        return Dataset(columns, self.episode_starts, self.origin)

    # -- what follows what ---------------------------------------------------------------------------------------

    @functools.cached_property
    def next_action_valid(self) -> np.ndarray:
        """True where the next row belongs to the same episode, so that the action taken there is known."""
        valid = np.ones(len(self), bool)
        valid[self.episode_stops - 1] = False
        return _frozen(valid)

    @functools.cached_property
    def next_actions(self) -> np.ndarray:
        """The action taken at the successor; a row's own action where `next_action_valid` is False."""
        following = np.concatenate([self.actions[1:], self.actions[-1:]])
        ends = ~self.next_action_valid
        following[ends] = self.actions[ends]
        return _frozen(following)

    @functools.cached_property
    def sarsa_rows(self) -> np.ndarray:
        """Rows with a SARSA target: a known next action, or a terminal, where the target is the reward alone."""
        return _frozen(np.flatnonzero(self.next_action_valid | self.terminals))

    @functools.cached_property
    def bootstrap_rows(self) -> np.ndarray:
        """Rows with a target that needs the next observation only: a known successor, or a terminal."""
        return _frozen(np.flatnonzero(self.next_valid | self.terminals))

    # -- statistics ----------------------------------------------------------------------------------------------

    @functools.cached_property
    def observation_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the observations, in float64."""
        mean, deviation = mean_and_deviation(self.observations)
        return _frozen(mean), _frozen(deviation)

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Low, high, and whether the source named them; else the data's own range."""
        if self.origin.action_low is not None and self.origin.action_high is not None:
            return self.origin.action_low, self.origin.action_high, True
        return self.actions.min(axis=0), self.actions.max(axis=0), False

    @functools.cached_property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest action seen in each dimension, whatever bounds the source states."""
        return _frozen(self.actions.min(axis=0)), _frozen(self.actions.max(axis=0))

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical columns: equal for the same data in every format that holds it."""
        digest = hashlib.sha256()
        action_type = np.int64 if self.discrete_actions else np.float32
        canonical = (
            ("observations", np.float32),
            ("actions", action_type),
            ("rewards", np.float32),
            ("next_observations", np.float32),
            ("terminals", np.bool_),
            ("timeouts", np.bool_),
            ("next_valid", np.bool_),
        )
        for name, dtype in canonical:
            column = self._column(name)
            digest.update(f"{name}:{None if column is None else column.shape};".encode())
            if column is not None:
                for block in _blocks(column, dtype):
                    digest.update(block)
        digest.update(self.episode_starts.astype("<i8").tobytes())
        return digest.hexdigest()


def _frozen(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def _blocks(column: Any, dtype: Any) -> Iterator[memoryview]:
    little = np.dtype(dtype).newbyteorder("<")
    for _, part in blocks_of(column):
        with np.errstate(over="ignore"):  # a float64 beyond float32 is infinity in every format
            block = np.ascontiguousarray(part, little)
        if np.issubdtype(little, np.floating):
            block = block + np.zeros((), little)  # -0.0 becomes 0.0: equal data, equal fingerprint
        yield block.data.cast("B")


def _terminal_wins(terminals, timeouts, origin: Origin) -> tuple[np.ndarray, Origin]:
    both = np.flatnonzero(terminals & timeouts)
    if len(both) == 0:
        return timeouts, origin
    note = Note(
        "both_flags",
        f"{len(both):,} rows are flagged terminal and timeout; the terminal was kept",
        "decide which of the two ended the episode when recording",
        tuple(int(row) for row in both),
    )
    return timeouts & ~terminals, replace(origin, notes=(*origin.notes, note))
