"""LeRobot v2.0, v2.1 and v3: Parquet tables of frames, read without the lerobot package.

A frame holds the observation, the action taken there and, under `next.*`, what followed. The observation behind an
episode's last action is not stored. Videos are not opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.blocks import Matrix, chosen_rows
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats.assemble import ENDS_UNKNOWN, assemble, chosen_keys, join_vectors, left_out
from rlassay.formats.guards import Budget, read_json
from rlassay.formats.options import ReadOptions
from rlassay.formats.rows import split_at_gaps
from rlassay.formats.spilled import Gathered
from rlassay.formats.tables import numbers, parquet_bytes, parquet_parts, read_parquet

FORMAT = "lerobot"
INDEX = ("index", "episode_index", "frame_index")
OUTCOMES = {"next.reward": "rewards", "next.done": "dones", "next.truncated": "timeouts"}
BESIDE = (
    "timestamp",
    "task_index",
    "next.success",
)  # kept beside the columns, for scores of movement
PLAIN_STATES = ("state", "states")
ACTIONS = ("action", "actions")
CAMERAS = ("video", "image")
KEPT = ("codebase_version", "robot_type", "fps", "total_episodes", "total_frames", "total_tasks")


def recognises(folder: Path) -> bool:
    return (folder / "meta" / "info.json").is_file()


def read(folder: Path, options: ReadOptions) -> Dataset:
    """Every frame, in the order of `index`."""
    info = read_json(folder / "meta" / "info.json")
    version = str(info.get("codebase_version"))
    if not re.fullmatch(r"v?(2\.[01]|3\.\d+)", version):
        raise DatasetError(
            f"{folder} is of LeRobot version {version}",
            allowed="v2.0, v2.1, v3.0",
            remedy="convert it with the scripts of the lerobot package",
        )
    _check_map(options)
    vectors, notes = _observation_keys(info, options)
    action = _action_key(info, options)
    columns = _frames(folder, [*vectors, action, *INDEX, *OUTCOMES, *BESIDE], info)
    order = replace(options, observation_keys=tuple(vectors)) if options.map else options
    observations, joined = join_vectors({key: columns[key] for key in vectors}, order)
    others = set(info["features"]) - {*vectors, action, *INDEX, *OUTCOMES, *BESIDE}
    settled, end_notes = _ends(columns, len(observations))
    starts, holes = _episode_starts(columns)
    return assemble(
        {
            "observations": observations,
            "actions": columns[action],
            "rewards": columns.get("next.reward"),
            "episode_starts": starts,
            **settled,
        },
        options,
        source=folder,
        format_name=FORMAT,
        notes=[*notes, *joined, *end_notes, *holes, *left_out(others, options)],
        metadata={key: info[key] for key in KEPT if key in info},
        extras={name: columns[name] for name in BESIDE if name in columns},
    )


def _observation_keys(info: dict[str, Any], options: ReadOptions) -> tuple[list[str], list[Note]]:
    features = info.get("features")
    if not isinstance(features, dict) or not all(isinstance(f, dict) for f in features.values()):
        raise DatasetError("meta/info.json describes no features")
    cameras = sorted(key for key, feature in features.items() if feature.get("dtype") in CAMERAS)
    seen = [key for key in features if key == "observation" or key.startswith("observation.")]
    vectors = {key: None for key in seen if key not in cameras}
    if not vectors:  # datasets prepared for openpi name them so
        vectors = {key: None for key in PLAIN_STATES if key in features and key not in cameras}
    if not vectors:
        raise DatasetError(
            "the dataset has no observation vectors",
            allowed="observation.state or another vector of numbers",
            got=sorted(features) or "no features",
            remedy="images are not scored; add an encoded vector as a feature first",
        )
    if options.map is not None:
        keys = options.map.resolve(features, "the dataset")["observations"]
    else:
        keys = chosen_keys(vectors, options, "observations")
    if not cameras:
        return keys, []
    message = f"the cameras {', '.join(cameras)} are not read; the observation is {', '.join(keys)}"
    return keys, [
        Note("cameras_left_out", message, "encode the images as vectors if the task needs them")
    ]


def _check_map(options: ReadOptions) -> None:
    """Order, borders and outcomes of LeRobot's frames are fixed; a map may choose vectors alone."""
    others = set(options.map.to_dict()) - {"observations", "actions"} if options.map else set()
    if others:
        raise DatasetError(
            "a map of a LeRobot folder names too much",
            allowed="observations, actions",
            got=sorted(others),
        )


def _action_key(info: dict[str, Any], options: ReadOptions) -> str:
    if options.map is not None:
        return options.map.resolve(info["features"], "the dataset")["actions"][0]
    return next((key for key in ACTIONS if key in info["features"]), ACTIONS[0])


def _frames(folder: Path, names: list[str], info: dict[str, Any]) -> dict[str, Any]:
    """The named columns of all files, joined and brought into the order of `index`."""
    files = sorted((folder / "data").glob("chunk-*/*.parquet"), key=_file_order)
    if not files:
        raise DatasetError(f"{folder} has no frames", allowed="data/chunk-*/*.parquet")
    budget = Budget(folder)
    size = sum(parquet_bytes(file, names) for file in files)
    to_disk = size if budget.exceeded_by(size) else None
    found, known, left = Gathered(to_disk=to_disk), None, set[str]()
    for table in _tables(files, names, budget):
        known = known or table.schema.names
        if table.schema.names != known:
            raise DatasetError(f"the files of {folder} differ in their columns")
        for name in known:
            try:
                found.add(name, numbers(table, name))
            except DatasetError:
                if name not in BESIDE:  # what no score needs is left out, not refused
                    raise
                left.add(name)
    optional = {*OUTCOMES, *BESIDE}
    lost = [name for name in names if name not in (known or ()) and name not in optional]
    if lost:
        raise DatasetError(f"the frames of {folder} lack columns", allowed=names, got=known)
    columns = {name: found.column(name) for name in found.names() if name not in left}
    return _in_order(columns, info, folder)


def _tables(files: list[Path], names: list[str], budget: Budget) -> Iterator[Any]:
    """The tables of all files, in parts where they are too large together."""
    for file in files:
        if budget.streaming:
            yield from parquet_parts(file, names)
        else:
            yield read_parquet(file, names, budget)


def _file_order(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", f"{path.parent.name}/{path.name}"))


def _in_order(columns: dict[str, Matrix], info: dict[str, Any], folder: Path) -> dict[str, Any]:
    index: Any = columns["index"]
    promised = info.get("total_frames")
    if isinstance(promised, int) and promised != len(index):
        raise DatasetError(
            f"{folder} promises {promised:,} frames and holds {len(index):,}",
            remedy="a part of the dataset is missing; fetch it again",
        )
    order = np.argsort(index, kind="stable")
    if len(index) and (np.diff(index[order]) == 0).any():
        raise DatasetError(
            f"{folder} holds frames twice", remedy="two files overlap; fetch the dataset again"
        )
    if np.array_equal(order, np.arange(len(order))):
        return columns
    return {name: chosen_rows(column, order) for name, column in columns.items()}


def _episode_starts(columns: dict[str, np.ndarray]) -> tuple[np.ndarray, list[Note]]:
    """First rows of the episodes; one whose frames have holes is split there, and a note names the rows."""
    episode, frame = columns["episode_index"], columns["frame_index"]
    starts = np.flatnonzero(np.append(True, np.diff(episode) != 0))
    if len(np.unique(episode[starts])) != len(starts) or frame[starts].any():
        raise DatasetError(
            "the frames of an episode are scattered or lack their beginning",
            remedy="`frame_index` must count from 0 in each episode",
        )
    return split_at_gaps(frame, starts)


def _ends(columns: dict[str, np.ndarray], rows: int) -> tuple[dict[str, Any], list[Note]]:
    """Terminals and timeouts; without `next.truncated` a `next.done` may be either."""
    done = columns.get("next.done")
    cut = columns.get("next.truncated")
    if done is None and cut is None:
        return {"terminals": np.zeros(rows, bool)}, [ENDS_UNKNOWN]
    if cut is None:
        return {"dones": done}, []
    cut = checks.flags("next.truncated", cut, rows)
    ended = np.zeros(rows, bool) if done is None else checks.flags("next.done", done, rows)
    return {"terminals": ended & ~cut, "timeouts": cut}, []
