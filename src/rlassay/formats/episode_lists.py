"""Lists of episodes, as files and as commands of the lerobot package."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.engine.files import read_bounded, write_atomically
from rlassay.errors import DatasetError


def write_episode_list(path: Path, episodes: Iterable[int], *, like: Path | None = None) -> None:
    """A CSV with one column, `episode`."""
    numbers = "".join(f"{int(episode)}\n" for episode in episodes)
    write_atomically(path, f"episode\n{numbers}", like=like)


def read_episode_list(path: Path) -> tuple[int, ...]:
    """Episode numbers from a CSV with a column `episode`, or from a text file with one number a line."""
    try:
        text = read_bounded(path).decode()
        return _numbers(list(csv.reader(text.splitlines())))
    except (OSError, UnicodeDecodeError, ValueError, IndexError, OverflowError, csv.Error) as error:
        raise DatasetError(
            f"{path} is not a list of episodes ({error})",
            allowed="a CSV with a column `episode`, or one number a line",
        ) from None


def _numbers(rows: list[list[str]]) -> tuple[int, ...]:
    column = rows[0].index("episode") if rows and "episode" in rows[0] else None
    values = rows if column is None else rows[1:]
    place = column or 0
    return tuple(int(float(row[place])) for row in values if row and row[place].strip())


def lerobot_episodes(data: Dataset, source: Path) -> np.ndarray:
    """The dataset's own `episode_index` of every episode, for commands of the lerobot package."""
    _, episode, _ = lerobot_indices(source)
    named = episode[data.episode_starts]
    if len(np.unique(named)) != len(named):
        raise DatasetError(
            "an episode of the source is marked done inside, so whole episodes cannot be deleted",
            remedy="write a dataset instead: -o OUT.npz --to npz",
        )
    return named


def lerobot_indices(source: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`index`, `episode_index` and `frame_index` of every frame, in the order in which frames are read."""
    import pyarrow.parquet

    names = ["index", "episode_index", "frame_index"]
    files = sorted((source / "data").glob("chunk-*/*.parquet"))
    tables = [pyarrow.parquet.read_table(file, columns=names) for file in files]
    columns = [np.concatenate([table[name].to_numpy() for table in tables]) for name in names]
    order = np.argsort(columns[0], kind="stable")
    index, episode, frame = (column[order] for column in columns)
    return index, episode, frame


def lerobot_show_commands(source: Path, episode: int) -> dict[str, str]:
    """Commands of the lerobot package that open one episode, at once or as a file for Rerun."""
    name = source.resolve().name
    words = ["lerobot-dataset-viz", "--repo-id", name, "--root", str(source)]
    words += ["--episode-index", str(episode)]
    saved = shlex.join([*words, "--save", "1", "--output-dir", "."])
    return {
        "lerobot": shlex.join(words),
        "rerun": f"{saved} && {shlex.join(['rerun', f'{name}_episode_{episode}.rrd'])}",
    }


def lerobot_delete_command(source: Path, out: Path | None, episodes: np.ndarray) -> str:
    """A command of the lerobot package (for v3 datasets) that writes a copy without these episodes."""
    new = source.with_name(source.name + "_curated") if out is None else out
    options = {
        "--repo_id": source.resolve().name,
        "--root": str(source),
        "--new_repo_id": new.name,
        "--new_root": str(new),
        "--operation.type": "delete_episodes",
        "--operation.episode_indices": str([int(episode) for episode in episodes]),
    }
    return shlex.join(
        ["lerobot-edit-dataset", *(f"{key}={value}" for key, value in options.items())]
    )
