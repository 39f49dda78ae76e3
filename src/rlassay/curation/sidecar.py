"""Scores beside a dataset: two Parquet tables and a description, joined by LeRobot's own indices (`rlassay.sidecar/1`).

docs/demonstrations.md describes the layout. The dataset itself is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay import __version__
from rlassay.curation.lerobot_scores import (
    META,
    by_episode_index,
    signal_metadata,
    write_episode_metadata,
)
from rlassay.data.dataset import Dataset
from rlassay.engine.files import replacing_folder
from rlassay.errors import DatasetError
from rlassay.motion.frames import frame_scores
from rlassay.motion.scores import described, measure
from rlassay.motion.trajectories import motion_of
from rlassay.results.episodes import EpisodeTable

SCHEMA = "rlassay.sidecar/1"
ABOUT, EPISODES, FRAMES = "sidecar.json", "episodes.parquet", "frames.parquet"
EPISODE_PLACE = ("episode", "episode_index", "first_frame", "start", "length", "kept")
FRAME_PLACE = ("index", "episode_index", "frame_index")


@dataclass(frozen=True)
class Sidecar:
    """What was written: the description, and the columns of both tables; an unknown score is NaN."""

    about: Mapping[str, Any]
    episodes: Mapping[str, np.ndarray]
    frames: Mapping[str, np.ndarray]

    @property
    def table(self) -> EpisodeTable:
        """The episodes' scores, as `rlassay.curate(..., table=...)` takes them."""
        scores = {name: self.episodes[name] for name in self.about["episode_scores"]}
        directions = {n: told["direction"] for n, told in self.about["episode_scores"].items()}
        return EpisodeTable(self.episodes["start"], self.episodes["length"], scores, directions)

    def by_episode_index(self) -> dict[int, dict[str, Any]]:
        """`kept` and every score under the dataset's own `episode_index`, for a filter of episodes."""
        return by_episode_index(self.episodes, ("kept", *self.about["episode_scores"]))


def make_sidecar(data: Dataset, kept: np.ndarray, chosen_by: Mapping[str, Any] | None) -> Sidecar:
    """Scores of every episode and frame; `kept` are the episodes a rule keeps, `chosen_by` that rule."""
    motion = motion_of(data)
    columns = {n: c for n, c in measure(motion).items() if np.isfinite(c).any()}
    frames = frame_scores(motion)
    index, episode_index, frame_index = _own_indices(data)
    starts = np.asarray(data.episode_starts)
    about = {
        "schema": SCHEMA,
        "source": data.origin.source,
        "format": data.origin.format,
        "fingerprint": data.fingerprint,
        "rule": chosen_by,
        "episode_scores": {name: described(name) for name in columns},
        "frame_scores": {name: described(name) for name in frames},
    }
    place = {
        "episode": np.arange(data.episode_count),
        "episode_index": episode_index[starts],
        "first_frame": frame_index[starts],
        "start": starts,
        "length": np.asarray(data.episode_lengths),
        "kept": np.isin(np.arange(data.episode_count), kept),
    }
    where = {"index": index, "episode_index": episode_index, "frame_index": frame_index}
    return Sidecar(about, place | columns, where | frames)


def _own_indices(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The source's `index`, `episode_index` and `frame_index` of every row; counted here for other formats."""
    source = Path(data.origin.source)
    if data.origin.format == "lerobot" and source.is_dir():
        from rlassay.formats.episode_lists import lerobot_indices

        return lerobot_indices(source)
    rows, starts = np.arange(len(data)), np.asarray(data.episode_starts)
    episode = np.asarray(data.episode_index)
    return rows, episode, rows - starts[episode]


def check_place(folder: Path, force: bool) -> None:
    """Refuse what `write_sidecar` must not replace: anything that is no sidecar, and a sidecar without `force`."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not (folder / ABOUT).is_file():
        raise DatasetError(f"{folder} exists and is no sidecar", remedy="name another folder")
    if not force:
        raise DatasetError(
            f"{folder} exists", remedy="name another place, or replace it with --force"
        )


def write_sidecar(folder: Path, sidecar: Sidecar) -> None:
    """The folder is whole or unchanged."""
    with replacing_folder(folder) as temporary:
        temporary.mkdir(parents=True, exist_ok=True)
        _write_episodes(temporary / EPISODES, sidecar)
        _write_frames(temporary / FRAMES, sidecar)
        source = Path(sidecar.about["source"])
        numbers = sidecar.episodes["episode_index"]
        whole = len(np.unique(numbers)) == len(numbers)  # no episode ends inside another
        if whole and sidecar.about["format"] == "lerobot" and (source / META).is_dir():
            write_episode_metadata(source, temporary, sidecar.by_episode_index())
        (temporary / ABOUT).write_text(json.dumps(sidecar.about, indent=1) + "\n")


def _write_episodes(path: Path, sidecar: Sidecar) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {name: pa.array(column, from_pandas=True) for name, column in sidecar.episodes.items()}
    table = pa.table(arrays).replace_schema_metadata({"rlassay": SCHEMA})
    pyarrow.parquet.write_table(table, path)


def _write_frames(path: Path, sidecar: Sidecar) -> None:
    """One group of rows an episode; an unknown score is NaN, as in the layout that this follows."""
    import pyarrow as pa
    import pyarrow.parquet

    about = sidecar.about
    scored = {"by": "rlassay", "version": __version__, "fingerprint": about["fingerprint"]}
    described = {"rlassay": SCHEMA, **signal_metadata(about["frame_scores"], scored)}
    columns = {name: np.asarray(column) for name, column in sidecar.frames.items()}
    table = pa.table(columns).replace_schema_metadata(described)
    with pyarrow.parquet.ParquetWriter(path, table.schema) as writer:
        for start, length in zip(
            sidecar.episodes["start"], sidecar.episodes["length"], strict=True
        ):
            writer.write_table(table.slice(int(start), int(length)))


def read_sidecar(folder: str | Path) -> Sidecar:
    """Read it back; another version or half a sidecar is refused."""
    from rlassay.formats.guards import Budget, read_json
    from rlassay.formats.tables import read_parquet

    folder = Path(folder)
    if not (folder / ABOUT).is_file():
        raise DatasetError(f"{folder} is no sidecar", remedy=f"it has no {ABOUT}")
    about = read_json(folder / ABOUT)
    if about.get("schema") != SCHEMA:
        raise DatasetError(
            f"{folder} is of another version", allowed=SCHEMA, got=about.get("schema")
        )
    budget, found = Budget(folder), []
    for name, place, scores in (
        (EPISODES, EPISODE_PLACE, about["episode_scores"]),
        (FRAMES, FRAME_PLACE, about["frame_scores"]),
    ):
        table = read_parquet(folder / name, [*place, *scores], budget)
        found.append({key: _column(table, key, key in scores) for key in (*place, *scores)})
    return Sidecar(about, *found)


def _column(table: Any, name: str, score: bool) -> np.ndarray:
    values = table[name].to_numpy()
    return values.astype(np.float64) if score else values
