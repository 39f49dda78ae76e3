"""d3rlpy: the dump of a version 2 replay buffer, and the MDPDataset of version 1.

Version 1 marks the end of an episode with `episode_terminals` alone: a terminated one carries `terminals` on its last
two rows, and splitting there would make an episode of its last row.

Neither stores the observation behind an episode's last action, so the successor of that row is unknown. A version 2
episode that is not `terminated` was cut: its last row is a timeout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.assemble import assemble, empty_note
from rlassay.formats.guards import Budget
from rlassay.formats.options import ReadOptions

FORMAT_V1, FORMAT_V2 = "d3rlpy-v1", "d3rlpy-v2"
V2_MARKS = {"columns", "num_episodes", "version"}
V2_COLUMNS = ("observations", "actions", "rewards", "terminated")
V1_MARKS = ("episode_terminals", "discrete_action")


def recognises_v2(root: h5py.Group) -> bool:
    return set(hdf5.names(root)) >= V2_MARKS


def recognises_v1(root: h5py.Group) -> bool:
    members = set(hdf5.names(root))
    return {"observations", "actions"} <= members and any(mark in members for mark in V1_MARKS)


def read_v1(path: Path, options: ReadOptions) -> Dataset:
    """Flat columns, split by `episode_terminals`; an end that is no terminal is a timeout."""
    with hdf5.opened(path, "a d3rlpy MDPDataset") as file:
        budget = Budget(path)
        names = ("observations", "actions", "rewards", "terminals", "episode_terminals")
        columns = {name: hdf5.read(file, name, budget) for name in names}
        discrete = hdf5.text(file, "discrete_action")
        metadata = {"version": hdf5.text(file, "version")}
    if (
        columns["observations"] is None
        or columns["actions"] is None
        or columns["terminals"] is None
    ):
        raise DatasetError(
            f"{path} lacks columns of an MDPDataset",
            allowed=names,
            got=[n for n in names if columns[n] is not None],
        )
    rows = checks.row_count(columns["observations"])
    ends = columns.pop("episode_terminals")
    notes = []
    if ends is not None:
        terminals = checks.flags("terminals", columns["terminals"], rows)
        ends = checks.flags("episode_terminals", ends, rows)
        columns["terminals"], columns["timeouts"] = terminals & ends, ends & ~terminals
        notes = _terminals_inside(terminals & ~ends)
    if discrete in ("True", "1"):
        columns["actions"] = _as_integers(columns["actions"])
    return assemble(
        columns, options, source=path, format_name=FORMAT_V1, metadata=metadata, notes=notes
    )


def _terminals_inside(inside: np.ndarray) -> list[Note]:
    """d3rlpy 1 flags the row before a terminated episode's last one too."""
    rows = np.flatnonzero(inside)
    if len(rows) == 0:
        return []
    return [
        Note(
            "terminals_inside",
            f"{len(rows):,} rows are flagged terminal before their episode's last row; `episode_terminals` decides",
            "nothing to do for files of d3rlpy 1, which flags the last two rows of a terminated episode",
            tuple(int(row) for row in rows[:20]),
        )
    ]


def _as_integers(actions: np.ndarray | None) -> np.ndarray:
    array = checks.as_array("actions", actions)
    whole = array.astype(np.int64)
    if not np.array_equal(whole, array):
        raise DatasetError("discrete actions are not whole numbers")
    return whole


def read_v2(path: Path, options: ReadOptions) -> Dataset:
    """One set of arrays per episode, numbered."""
    with hdf5.opened(path, "a d3rlpy dump") as file:
        check_version(file, path)
        count = episode_count(file)
        budget = Budget(path)
        members = frozenset(hdf5.names(file))
        episodes = [_episode(file, i, members, budget) for i in range(count)]
    kept = [episode for episode in episodes if len(episode["observations"])]
    if not kept:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    columns: dict[str, Any] = {key: np.concatenate([e[key] for e in kept]) for key in kept[0]}
    lengths = [len(episode["observations"]) for episode in kept]
    columns["episode_starts"] = np.cumsum([0, *lengths[:-1]])
    notes = empty_note([i for i, e in enumerate(episodes) if not len(e["observations"])])
    return assemble(columns, options, source=path, format_name=FORMAT_V2, notes=notes)


def check_version(file: h5py.File, path: Path) -> None:
    """Refuse a dump whose layout this module does not know."""
    version = hdf5.text(file, "version")
    if version != "2.1":
        raise DatasetError(
            f"{path} is a d3rlpy dump of version {version}",
            allowed="2.1",
            remedy="dump the buffer again with a current d3rlpy 2",
        )
    if "observations" not in hdf5.strings(file, "columns"):
        raise DatasetError(f"{path} lacks the column observations", allowed=V2_COLUMNS)


def episode_count(file: h5py.File) -> int:
    """As the file states it, empty episodes included."""
    stated = hdf5.text(file, "num_episodes") or ""
    if not stated.isdecimal() or int(stated) > len(file):
        raise DatasetError(
            "the number of episodes is not in the file", got=stated[:20] or "nothing"
        )
    return int(stated)


def _episode(
    file: h5py.File, index: int, members: frozenset[str], budget: Budget
) -> dict[str, Any]:
    if f"observations_{index}_0" in members:
        raise DatasetError(
            f"episode {index} has a tuple of observations",
            allowed="one vector a row",
            remedy="join the parts into one vector before dumping",
        )
    found: dict[str, Any] = {key: hdf5.read(file, f"{key}_{index}", budget) for key in V2_COLUMNS}
    if any(value is None for value in found.values()):
        raise DatasetError(f"episode {index} lacks columns", allowed=V2_COLUMNS)
    rows = len(np.atleast_1d(found["observations"]))
    terminated = bool(np.asarray(found.pop("terminated")).ravel()[:1].any())
    ends = np.zeros(rows, bool)
    ends[rows - 1 :] = True
    for key in ("actions", "rewards"):
        if len(np.atleast_1d(found[key])) != rows:
            raise checks.ShapeError(
                f"{key} of episode {index} differ in length from its observations"
            )
    return found | {"terminals": ends & terminated, "timeouts": ends & (not terminated)}
