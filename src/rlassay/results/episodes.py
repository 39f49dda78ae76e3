"""The table of episode scores: one row an episode, one column a score, each with its direction."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.files import replacing, write_atomically
from rlassay.errors import SettingsError
from rlassay.results.card import Direction
from rlassay.words import suggest

PLACE = ("episode", "start", "length")  # where an episode lies; everything else is a score


@dataclass(frozen=True)
class EpisodeTable:
    """Scores of every episode, NaN where one is unknown. `directions` says which end of a score is the good one."""

    start: np.ndarray  # first row of each episode
    length: np.ndarray  # transitions of each episode
    scores: Mapping[str, np.ndarray]
    # A score that is not named here is better when higher.
    directions: Mapping[str, Direction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in self.scores.items():
            if np.shape(column) != (len(self),):
                raise SettingsError(
                    f"the episode score {name} has the wrong shape",
                    allowed=(len(self),),
                    got=np.shape(column),
                )

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, name: str) -> np.ndarray:
        if name == "episode":
            return np.arange(len(self))
        if name in PLACE:
            return getattr(self, name)
        if name not in self.scores:
            meant = suggest(name, self.scores)
            raise SettingsError(
                f"unknown episode score{meant}", allowed=list(self.scores), got=name
            )
        return np.asarray(self.scores[name], np.float64)

    def direction(self, name: str) -> Direction:
        return self.directions.get(name, "higher")

    def goodness(self, name: str) -> np.ndarray:
        """The score turned so that higher is better."""
        return self[name] if self.direction(name) == "higher" else -self[name]

    def take(self, episodes: np.ndarray) -> EpisodeTable:
        """The rows of some episodes."""
        scores = {name: np.asarray(column)[episodes] for name, column in self.scores.items()}
        return EpisodeTable(self.start[episodes], self.length[episodes], scores, self.directions)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Every column in the order it is written: place, return, the other scores."""
        unknown = np.full(len(self), np.nan)
        ordered = {name: self[name] for name in PLACE}
        ordered["return"] = self["return"] if "return" in self.scores else unknown
        return ordered | {name: self[name] for name in self.scores if name != "return"}


def write_episode_table(path: str | Path, table: EpisodeTable) -> None:
    """Write `episode, start, length, return, <score>...` as Parquet or CSV, by the file's ending."""
    path = Path(path)
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    if path.suffix.lower() not in writers:
        raise SettingsError(
            "the table of episodes cannot be written",
            allowed=list(writers),
            got=path.suffix or path.name,
        )
    writers[path.suffix.lower()](path, table.columns)


def _write_parquet(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    with replacing(path) as temporary:
        pyarrow.parquet.write_table(pa.table(arrays), temporary)


def _write_csv(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow([_cell(value) for value in row])
    write_atomically(path, text.getvalue())


def _cell(value: Any) -> str:
    """Shortest text that reads back as the same number; unknown is an empty cell."""
    return "" if value != value else repr(value)
