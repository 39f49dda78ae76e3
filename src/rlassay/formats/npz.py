"""Plain `.npz` archives and folders of `.npy`: columns under their own names or the usual aliases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.blocks import BlockColumn
from rlassay.data.dataset import COLUMNS, Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats.assemble import assemble, left_out
from rlassay.formats.guards import Budget, parsed_object
from rlassay.formats.npy import Archive, Folder, write_archive
from rlassay.formats.options import ReadOptions

FORMAT, FOLDER_FORMAT = "npz", "npy"
ALIASES = {
    "observations": ("observations", "obs", "states"),
    "actions": ("actions",),
    "rewards": ("rewards",),
    "next_observations": ("next_observations", "next_obs", "next_states"),
    "terminals": ("terminals", "terminations", "terminated"),
    "timeouts": ("timeouts", "truncations", "truncated"),
    "dones": ("dones", "done"),
    "next_valid": ("next_valid",),
    "episode_starts": ("episode_starts",),
}
ORIGIN = ("action_low", "action_high", "env_id", "metadata")


def match_columns(names: list[str], source: object) -> dict[str, str]:
    """Column -> the name under which the source holds it; two names for one column are refused."""
    found: dict[str, str] = {}
    for column, aliases in ALIASES.items():
        present = [alias for alias in aliases if alias in names]
        if len(present) > 1:
            raise DatasetError(f"{source} holds one column under two names", got=present)
        if present:
            found[column] = present[0]
    _require(found, names, source)
    return found


def holds_columns(names: set[str]) -> bool:
    """Whether the names are those of a plain archive, complete or not."""
    known = {column for column, aliases in ALIASES.items() if set(aliases) & names}
    return {"observations", "actions"} <= known and bool(known & {"terminals", "dones"})


def _require(found: dict[str, str], names: list[str], source: object) -> None:
    ends = "terminals" in found or "dones" in found
    if not {"observations", "actions"} <= set(found) or not ends:
        raise DatasetError(
            f"{source} lacks columns",
            allowed="observations, actions, terminals or dones; and if known rewards, timeouts, next_observations",
            got=sorted(names)[:20] or "none",
        )
    if "dones" in found and "terminals" in found:
        raise DatasetError(
            f"{source} holds both {found['terminals']} and {found['dones']}",
            remedy="keep terminals and timeouts, and leave out the merged flag",
        )


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every row of an archive or a folder."""
    folder = path.is_dir()
    container = (Folder if folder else Archive)(path, Budget(path))
    with container:
        found = match_columns(container.names(), path)
        large = container.budget.exceeded_by(container.stored_bytes(found.values()))
        take = container.column if large else container.read
        columns = {column: take(name) for column, name in found.items()}
        own = {name: container.read(name) for name in ORIGIN}
        rest = set(container.names()) - set(found.values()) - set(ORIGIN)
        extras, lost = numeric_extras(container, sorted(rest)) if options.extras else ({}, [])
    return assemble(
        columns,
        options,
        source=path,
        format_name=FOLDER_FORMAT if folder else FORMAT,
        env_id=_text(own["env_id"]),
        bounds=(own["action_low"], own["action_high"]),
        metadata=parsed_object(_text(own["metadata"])),
        notes=left_out(lost, options),
        extras=extras,
    )


def numeric_extras(
    container: Archive | Folder, names: list[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays of numbers beside the columns, and the names of those that are none."""
    found, lost = {}, []
    for name in names:
        try:
            array = container.read(name)
        except DatasetError as error:
            if "has the type" not in error.what:
                raise
            array = None
        if array is None or array.dtype.kind not in "fiub":
            lost.append(name)
        else:
            found[name] = array
    return found, lost


def _text(array: np.ndarray | None) -> str | None:
    return (
        str(array.ravel()[0])
        if array is not None and array.dtype.kind == "U" and array.size
        else None
    )


def write(data: Dataset, path: Path) -> list[Note]:
    """Every column and what is known of the origin; nothing is lost."""
    values: dict[str, Any] = {name: getattr(data, name) for name in COLUMNS}
    origin = data.origin
    values |= {"episode_starts": data.episode_starts, "env_id": origin.env_id}
    values |= {"action_low": origin.action_low, "action_high": origin.action_high}
    values["metadata"] = json.dumps(dict(origin.metadata)) if origin.metadata else None
    extras = {name: array for name, array in origin.extras.items() if name not in values}
    kept = {
        name: value if isinstance(value, BlockColumn) else np.asarray(value)
        for name, value in (values | extras).items()
        if value is not None
    }
    write_archive(path, kept)
    return []
