"""D4RL HDF5: flat columns in one file, read without d4rl or gym, and written so that D4RL's readers accept it.

What D4RL has no place for (environment, action bounds, unfinished ends, unknown successors) is kept in a group
`rlassay`, which other readers do not look at.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rlassay.data.blocks import BlockColumn, blocks_of, joined_rows
from rlassay.data.dataset import Dataset, Note
from rlassay.data.references import reference_for
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.assemble import assemble
from rlassay.formats.guards import Budget, parsed_object
from rlassay.formats.options import ReadOptions

FORMAT = "d4rl"
REQUIRED = ("observations", "actions", "terminals")
OPTIONAL = ("rewards", "timeouts", "next_observations")
OWN_GROUP = "rlassay"
_LOCOMOTION = {
    "halfcheetah": "HalfCheetah",
    "hopper": "Hopper",
    "walker2d": "Walker2d",
    "ant": "Ant",
}


def recognises(root: h5py.Group) -> bool:
    """Flat columns at the root, or D4RL's chunked form `virtual/<k>/...`."""
    members = set(hdf5.names(root))
    return {"observations", "actions"} <= members or "virtual" in members


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every row of the file; the last episode may be unfinished."""
    with hdf5.opened(path, "D4RL HDF5") as file:
        budget = Budget(path)
        columns = _columns(file, budget, path)
        own = _own_record(file, budget)
        env_id, notes = _environment(own.get("env_id"), path, options)
        return assemble(
            {**columns, **{k: own[k] for k in ("next_valid", "episode_starts") if k in own}},
            options,
            source=path,
            format_name=FORMAT,
            env_id=env_id,
            bounds=(own.get("action_low"), own.get("action_high")),
            notes=notes,
            metadata={**_metadata(file), **own.get("metadata", {})},
            extras=_extras(file, budget) if options.extras else None,
        )


def _columns(file: h5py.File, budget: Budget, path: Path) -> dict[str, Any]:
    parts = [file]
    if hdf5.child(file, "observations") is None:
        parts = _chunks(file)
    names = (*REQUIRED, *OPTIONAL)
    large = budget.exceeded_by(sum(hdf5.stored_bytes(part, names) for part in parts))
    take = hdf5.column if large else hdf5.read
    found = {key: [take(part, key, budget) for part in parts] for key in names}
    present: dict[str, list[Any]] = {
        key: arrays for key, arrays in found.items() if arrays[0] is not None
    }
    missing = [key for key in REQUIRED if key not in present]
    if missing or any(array is None for arrays in present.values() for array in arrays):
        raise DatasetError(
            f"{path} lacks columns of D4RL's layout",
            allowed=(*REQUIRED, *OPTIONAL),
            got=sorted(present),
        )
    return {key: a[0] if len(a) == 1 else _behind_each_other(a) for key, a in present.items()}


def _behind_each_other(arrays: list[Any]) -> Any:
    if any(isinstance(array, BlockColumn) for array in arrays):
        return joined_rows(arrays)
    return np.concatenate(arrays)


def _chunks(file: h5py.File) -> list[h5py.Group]:
    """The numbered groups below `virtual`, in numeric order."""
    group = hdf5.child(file, "virtual")
    numbered = hdf5.names(group) if isinstance(group, h5py.Group) else []
    if not numbered or not all(name.isdecimal() for name in numbered):
        raise DatasetError("the chunks of the file are not numbered groups", got=numbered[:5])
    assert isinstance(group, h5py.Group)
    parts = [hdf5.child(group, name) for name in sorted(numbered, key=int)]
    return [part for part in parts if isinstance(part, h5py.Group)]


def _own_record(file: h5py.File, budget: Budget) -> dict[str, Any]:
    group = hdf5.child(file, OWN_GROUP)
    if not isinstance(group, h5py.Group):
        return {}
    record = hdf5.attributes(group)
    for name in ("next_valid", "episode_starts"):
        record[name] = hdf5.read(group, name, budget)
    record["metadata"] = parsed_object(hdf5.text(group, "metadata"))
    return {name: value for name, value in record.items() if value is not None}


def _environment(stated: Any, path: Path, options: ReadOptions) -> tuple[str | None, list[Note]]:
    if isinstance(stated, str) or options.env_id:
        return stated if isinstance(stated, str) else None, []
    named = environment_of_name(path.name)
    if named is None:
        return None, []
    message = f"the file names no environment; {named} is taken from its name {path.name}"
    return named, [Note("env_from_name", message)]


def environment_of_name(name: str) -> str | None:
    """`hopper_medium-v2.hdf5` -> `Hopper-v2`; None when the name is not one of D4RL's."""
    stem = re.sub(r"\.(hdf5|h5)$", "", name.lower()).replace("_", "-")
    match = re.fullmatch(r"([a-z0-9]+)-[a-z0-9-]*?v(\d+)", stem)
    if match is None or reference_for(stem) is None:
        return None
    family, version = match.groups()
    return f"{_LOCOMOTION[family]}-v{version}" if family in _LOCOMOTION else stem


def _metadata(file: h5py.File) -> dict[str, Any]:
    """The file's attributes and the texts and numbers below `metadata`: algorithm, iteration, nonlinearity."""
    found = hdf5.attributes(file)
    group = hdf5.child(file, "metadata")
    if isinstance(group, h5py.Group):
        scalars = ((p, hdf5.text(g, n)) for p, g, n, item in hdf5.leaves(group) if item.shape == ())
        found.update({path: value for path, value in scalars if value is not None})
    return found


def _extras(file: h5py.File, budget: Budget) -> dict[str, np.ndarray]:
    """Every array of numbers beside the columns, by its path: infos and the behaviour policy's weights."""
    own = (*REQUIRED, *OPTIONAL, OWN_GROUP, "virtual")
    found = {}
    for path, group, name, item in hdf5.leaves(file):
        if path.split("/")[0] not in own and item.dtype.kind in "fiub" and item.shape != ():
            take = hdf5.column if budget.streaming else hdf5.read
            found[path] = take(group, name, budget)
    return found


def write(data: Dataset, path: Path) -> list[Note]:
    """Write the columns as D4RL does, and what D4RL cannot hold into the group `rlassay`; say what that is."""
    with h5py.File(path, "w") as file:
        for name, column in _stored_columns(data).items():
            hdf5.write_column(file, name, column, compression="gzip")
        notes = _write_own_record(data, file.create_group(OWN_GROUP))
        return [*notes, *_write_extras(data, file), *_unusual(data)]


def _write_extras(data: Dataset, file: h5py.File) -> list[Note]:
    """Arrays beside the columns, where their names are free paths; the others are named in a note."""
    lost = []
    for name, array in data.origin.extras.items():
        parts = name.split("/")
        taken = parts[0] in (
            *REQUIRED,
            *OPTIONAL,
            OWN_GROUP,
            "virtual",
            "metadata" if len(parts) == 1 else "",
        )
        if taken or "\0" in name or any(part in ("", ".", "..") for part in parts) or name in file:
            lost.append(name)
            continue
        try:
            hdf5.write_column(file, name, array)
        except (ValueError, TypeError, UnicodeError, RuntimeError):
            lost.append(name)  # a part of its path is an array already
    shown = ", ".join(repr(name) for name in lost[:20])
    return [Note("extras", f"D4RL has no place for the arrays {shown}")] if lost else []


def _stored_columns(data: Dataset) -> dict[str, np.ndarray]:
    columns = {
        "observations": data.observations,
        "actions": data.actions,
        "rewards": data.rewards,
        "terminals": data.terminals,
        "timeouts": data.timeouts,
        "next_observations": None if successors_follow(data) else data.next_observations,
    }
    return {name: column for name, column in columns.items() if column is not None}


def successors_follow(data: Dataset) -> bool:
    """True when the next observations add nothing to the order of the rows: the next row, and unknown at every end."""
    if not np.array_equal(data.next_valid, data.next_action_valid):
        return False
    observations, following = data.observations, data.next_observations
    for first, own in blocks_of(observations):
        inner = np.flatnonzero(data.next_action_valid[first : first + len(own)])
        expected = observations[first + 1 : first + len(own) + 1]
        found = following[first : first + len(own)]
        if not np.array_equal(found[inner], expected[inner], equal_nan=True):
            return False
    return True


def unflagged_ends(data: Dataset) -> np.ndarray:
    """Last rows of episodes that end with neither flag, the dataset's last row apart."""
    ends = data.episode_stops[:-1] - 1
    return ends[~(data.terminals | data.timeouts)[ends]]


def _write_own_record(data: Dataset, group: h5py.Group) -> list[Note]:
    origin = data.origin
    values = (
        ("env_id", origin.env_id),
        ("action_low", origin.action_low),
        ("action_high", origin.action_high),
    )
    group.attrs.update({name: value for name, value in values if value is not None})
    if origin.metadata:
        group.create_dataset("metadata", data=json.dumps(dict(origin.metadata)))
    notes = []
    unknown = 0 if successors_follow(data) else int((~data.next_valid).sum())
    if unknown:
        group.create_dataset("next_valid", data=data.next_valid, compression="gzip")
        text = f"D4RL cannot mark unknown successors: {unknown:,} rows repeat their own observation"
        notes.append(Note("unknown_successors", f"{text}; only the group `{OWN_GROUP}` marks them"))
    unflagged = len(unflagged_ends(data))
    if unflagged:
        group.create_dataset("episode_starts", data=data.episode_starts)
        text = f"D4RL cannot mark ends without a flag: {unflagged:,} episodes end so"
        notes.append(Note("unflagged_ends", f"{text}; only the group `{OWN_GROUP}` marks them"))
    return notes


def _unusual(data: Dataset) -> list[Note]:
    if data.rewards is None:
        return [Note("no_rewards", "the file has no `rewards`, which D4RL's own reader expects")]
    return []
