"""robomimic HDF5: `data/demo_<i>` groups, observations as a dict of vectors, and `mask/` filter keys.

`dones` marks success or the last step, depending on how the file was made; it never says that the task is over. So it
counts as a terminal on the last row of a demo alone, and marks inside a demo are reported.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.assemble import (
    assemble,
    chosen_keys,
    empty_note,
    join_vectors,
    left_out,
    refuse_image,
)
from rlassay.formats.guards import Budget, parsed_object
from rlassay.formats.options import ReadOptions
from rlassay.words import suggest

FORMAT = "robomimic"
COLUMNS = ("actions", "rewards", "dones", "obs", "next_obs")
ACTION_BOUNDS = (-1.0, 1.0)


def recognises(root: h5py.Group) -> bool:
    data = hdf5.child(root, "data")
    return isinstance(data, h5py.Group) and any(
        _number(name) is not None for name in hdf5.names(data)
    )


def _number(name: str) -> int | None:
    match = re.fullmatch(r"demo_(\d{1,9})", name)
    return int(match.group(1)) if match else None


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every demo in numeric order, or those of the filter key `options.mask`."""
    with hdf5.opened(path, "robomimic HDF5") as file:
        data = hdf5.child(file, "data")
        assert isinstance(data, h5py.Group)
        budget = Budget(path)
        chosen = chosen_demos(file, data, options.mask)
        demos = [_demo(data, name, options, budget) for name in chosen]
        attributes = hdf5.attributes(data)
        others = {key for name in chosen[:1] for key in data[name]} - set(COLUMNS)  # type: ignore[union-attr]
    filled = [demo for demo in demos if len(demo["actions"])]
    if not filled:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    columns, notes = _join(filled, chosen, options)
    notes += empty_note(
        [_number(n) or 0 for n, d in zip(chosen, demos, strict=True) if not len(d["actions"])]
    )
    bounds, beyond = _bounds(columns["actions"])
    environment = parsed_object(attributes.get("env_args"))
    name = environment.get("env_name")
    return assemble(
        columns,
        options,
        source=path,
        format_name=FORMAT,
        env_id=name if isinstance(name, str) else None,
        bounds=bounds,
        notes=[*notes, *beyond, *left_out(others, options)],
        metadata={"env_args": environment, **({"mask": options.mask} if options.mask else {})},
    )


def _bounds(actions: np.ndarray) -> tuple[tuple[float, float] | None, list[Note]]:
    """robomimic's actions lie in [-1, 1] by convention; the file does not state it, so the data decides."""
    outside = np.abs(checks.as_array("actions", actions)).max() > 1 + 1e-6
    if not outside:
        return ACTION_BOUNDS, []
    message = "actions lie outside [-1, 1], robomimic's convention, so their bounds are unknown"
    remedy = "expected for absolute actions; else normalise them as robomimic does"
    return None, [Note("actions_beyond_convention", message, remedy)]


def chosen_demos(file: h5py.File, data: h5py.Group, mask: str | None) -> list[str]:
    demos = {name for name in hdf5.names(data) if _number(name) is not None}
    if mask is not None:
        group = hdf5.child(file, "mask")
        filters = hdf5.names(group) if isinstance(group, h5py.Group) else []
        if mask not in filters:
            raise DatasetError(
                f"unknown mask{suggest(mask, filters)}",
                allowed=filters or "none in this file",
                got=mask,
            )
        wanted = set(hdf5.strings(group, mask))  # type: ignore[arg-type]
        if not wanted or not wanted <= demos:
            raise DatasetError(
                f"mask {mask} names demos that are not in the file", got=sorted(wanted - demos)[:5]
            )
        demos = wanted
    return sorted(demos, key=lambda name: _number(name) or 0)


def _demo(data: h5py.Group, name: str, options: ReadOptions, budget: Budget) -> dict[str, Any]:
    group = hdf5.child(data, name)
    if not isinstance(group, h5py.Group):
        raise DatasetError(f"{name} is not a group")
    demo: dict[str, Any] = {
        key: hdf5.read(group, key, budget) for key in ("actions", "rewards", "dones")
    }
    demo["obs"] = _vectors(group, "obs", options, budget)
    demo["next_obs"] = _vectors(group, "next_obs", options, budget)
    if demo["actions"] is None or demo["obs"] is None:
        raise DatasetError(
            f"{name} lacks actions or obs",
            remedy="extract observations with robomimic's dataset_states_to_obs.py first",
        )
    rows = len(np.atleast_1d(demo["actions"]))
    if demo["next_obs"] is not None and set(demo["next_obs"]) != set(demo["obs"]):
        raise DatasetError(
            f"next_obs of {name} holds other keys than obs",
            allowed=sorted(demo["obs"]),
            got=sorted(demo["next_obs"]),
            remedy="name the keys that both hold with --observation-keys",
        )
    parts = [
        demo["rewards"],
        demo["dones"],
        *demo["obs"].values(),
        *(demo["next_obs"] or {}).values(),
    ]
    if any(part is not None and len(np.atleast_1d(part)) != rows for part in parts):
        raise checks.ShapeError(
            f"the columns of {name} differ in length", remedy="every column needs one entry a step"
        )
    return demo


def _vectors(
    group: h5py.Group, name: str, options: ReadOptions, budget: Budget
) -> dict[str, np.ndarray] | None:
    """The chosen keys of an observation dict; an image among them is refused before it is read."""
    parts = hdf5.child(group, name)
    if not isinstance(parts, h5py.Group):
        return None
    found = {}
    for key in chosen_keys(dict.fromkeys(hdf5.names(parts)), options, "observations"):
        item = hdf5.child(parts, key)
        if isinstance(item, h5py.Dataset) and len(item.shape or ()) > 2:
            raise refuse_image(f"{name}/{key}", item.shape[1:])
        found[key] = hdf5.read(parts, key, budget)
    return found


def _join(
    demos: list[dict[str, Any]], names: list[str], options: ReadOptions
) -> tuple[dict[str, Any], list[Note]]:
    same = {
        (tuple(d["obs"]), d["next_obs"] is None, d["rewards"] is None, d["dones"] is None)
        for d in demos
    }
    if len(same) > 1:
        raise DatasetError(
            "the demos do not hold the same columns", remedy="drop the odd ones with a mask"
        )
    starts = np.cumsum([0, *(len(demo["actions"]) for demo in demos[:-1])])
    observations, notes = join_vectors(_stacked(demos, "obs"), options)
    columns: dict[str, Any] = {
        "observations": observations,
        "actions": np.concatenate([demo["actions"] for demo in demos]),
        "episode_starts": starts,
    }
    if demos[0]["next_obs"] is not None:
        columns["next_observations"] = join_vectors(_stacked(demos, "next_obs"), options)[0]
    if demos[0]["rewards"] is not None:
        columns["rewards"] = np.concatenate([demo["rewards"] for demo in demos])
    dones = demos[0]["dones"] is not None
    flags = (
        np.concatenate([d["dones"] for d in demos]) if dones else np.zeros(len(observations), bool)
    )
    inside = _keep_last_only(columns, flags, starts) if dones else []
    if not dones:
        columns["terminals"] = flags
    return columns, notes + inside


def _stacked(demos: list[dict[str, Any]], name: str) -> dict[str, np.ndarray]:
    return {key: np.concatenate([demo[name][key] for demo in demos]) for key in demos[0][name]}


def _keep_last_only(columns: dict[str, Any], flags: np.ndarray, starts: np.ndarray) -> list[Note]:
    rows = len(columns["observations"])
    dones = checks.flags("dones", flags, rows)
    last = np.zeros(rows, bool)
    last[np.append(starts[1:], rows) - 1] = True
    columns["dones"] = dones & last
    inside = np.flatnonzero(dones & ~last)
    if len(inside) == 0:
        return []
    message = (
        f"{len(inside):,} rows inside demos are marked done; the demo goes on, so they are no ends"
    )
    remedy = "nothing to do when `dones` marks success; else split the demos there"
    return [Note("dones_inside", message, remedy, tuple(int(row) for row in inside[:20]))]
