"""Any container by a map of its columns: the given one, RLlib's, ReAgent's, RLDS's, or that of usual names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats.assemble import ENDS_UNKNOWN, assemble, join_vectors, left_out
from rlassay.formats.containers import Container, open_container
from rlassay.formats.guards import Budget
from rlassay.formats.mapping import ColumnMap, constant, exact_map, unknown_columns
from rlassay.formats.options import ReadOptions
from rlassay.formats.rows import Steps, order_of, split_at_gaps

FORMAT = "mapped"
RLLIB = {
    "observations": "obs",
    "actions": "actions",
    "rewards": "rewards",
    "next_observations": "new_obs",
    "terminals": "terminateds",
    "timeouts": "truncateds",
    "dones": "dones",
    "step": "t",
}
REAGENT = {
    "observations": "state_features.*",
    "actions": "action.*",
    "rewards": "reward",
    "episode": "mdp_id",
    "step": "sequence_number",
}  # next_state_features are empty behind a last step, which in a sparse map would read as zeros


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every row of a container by the user's map."""
    assert options.map is not None
    with open_container(path, Budget(path)) as container:
        return _read(container, path, options.map, options, FORMAT)


def read_table(path: Path, options: ReadOptions) -> Dataset:
    """A table whose columns carry known names: RLlib's, ReAgent's, RLDS's or the usual ones."""
    with open_container(path, Budget(path)) as container:
        names = container.names()
        if {"is_first", "is_last"} <= set(names):
            from rlassay.formats import rlds

            return rlds.read(container, path, options)
        layout, chosen = known_map(names)
        if chosen is None:
            raise unknown_columns(path, names)
        return _read(container, path, chosen, options, layout or container.kind)


def known_map(names: list[str]) -> tuple[str | None, ColumnMap | None]:
    """The name of a layout and its map, or None and the map that usual names give."""
    known = set(names)
    if {"obs", "actions", "rewards"} <= known and known & {"eps_id", "new_obs", "unroll_id"}:
        found = [(role, (name,)) for role, name in RLLIB.items() if name in known]
        if "terminateds" in known:
            found = [(role, columns) for role, columns in found if role != "dones"]
        episode = tuple(name for name in ("eps_id", "agent_index", "agent_id") if name in known)
        return "rllib", ColumnMap((*found, *([("episode", episode)] if episode else [])))
    if {"mdp_id", "sequence_number", "reward"} <= known:
        dotted = {name.partition(".")[0] for name in known if "." in name}
        found = [
            (r, (n,)) for r, n in REAGENT.items() if n in known or n.removesuffix(".*") in dotted
        ]
        return "reagent", ColumnMap(tuple(found))
    return None, exact_map(names)


def _read(
    container: Container, path: Path, chosen: ColumnMap, options: ReadOptions, layout: str
) -> Dataset:
    roles = chosen.resolve(container.names(), path)
    columns, notes = _columns(container, roles, options)
    settled, more = _in_episodes(columns, path)
    used = {name for names in roles.values() for name in names}
    rest = sorted(set(container.names()) - used)
    return assemble(
        settled,
        options,
        source=path,
        format_name=layout,
        notes=[*notes, *getattr(container, "notes", []), *more, *left_out(rest, options)],
        metadata={"map": chosen.to_dict(), "container": container.kind},
    )


def _columns(
    container: Container, roles: dict[str, list[str]], options: ReadOptions
) -> tuple[dict[str, Any], list[Note]]:
    columns: dict[str, Any] = {}
    notes: list[Note] = []
    known = container.names()
    fixed = {r: constant(n[0]) for r, n in roles.items() if len(n) == 1 and n[0] not in known}
    for role, names in roles.items():
        if role in fixed:
            continue
        parts = {name: container.read(name) for name in names}
        if role == "episode":
            columns[role] = _labels([np.asarray(part) for part in parts.values()])
        elif len(names) == 1:
            columns[role] = parts[names[0]]
        else:
            columns[role], joined = _joined(role, parts)
            notes += joined if role in ("observations", "actions") else []
    rows = checks.row_count(columns["observations"])
    columns |= {role: np.full(rows, value) for role, value in fixed.items()}
    return columns, notes


def _joined(role: str, parts: dict[str, Any]) -> tuple[np.ndarray, list[Note]]:
    """Several columns as one, in the order of the map."""
    order = ReadOptions(observation_keys=tuple(parts))
    array, _ = join_vectors(parts, order)
    shown = ", ".join(list(parts)[:12]) + (" ..." if len(parts) > 12 else "")
    return array, [Note("joined", f"{role} join the columns {shown} in this order")]


def _labels(parts: list[np.ndarray]) -> np.ndarray:
    """One number an episode, from ids that are numbers or text, or from several of them."""
    codes = np.zeros(len(parts[0]), np.int64)
    for part in parts:
        if part.ndim != 1 or len(part) != len(codes):
            raise checks.ShapeError("the episode ids are no single column")
        if part.dtype.kind == "f" and np.isnan(part).any():
            raise DatasetError("some rows name no episode", remedy="fill or drop the rows")
        own = np.unique(part, return_inverse=True)[1]
        codes = np.unique(codes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    return codes


def _in_episodes(columns: dict[str, Any], path: Path) -> tuple[dict[str, Any], list[Note]]:
    """Rows brought into the order of their episodes and steps, and where the episodes begin."""
    rows = checks.row_count(columns["observations"])
    steps = Steps(
        columns.pop("episode", None), columns.pop("step", None), columns.pop("first", None)
    )
    for name, column in columns.items():
        if len(np.atleast_1d(column)) != rows:
            raise checks.ShapeError(f"{name} and observations of {path} differ in length")
    order, starts = order_of(steps, rows, path)
    if order is not None:
        columns = {name: np.asarray(column)[order] for name, column in columns.items()}
    notes: list[Note] = []
    if steps.step is not None and starts is not None:
        step = steps.step if order is None else steps.step[order]
        starts, notes = split_at_gaps(np.asarray(step), starts)
    if starts is not None:
        columns["episode_starts"] = starts
    if "terminals" in columns and "dones" in columns:
        raise DatasetError(
            "the map names both terminals and dones", remedy="keep terminals and timeouts"
        )
    if "terminals" not in columns and "dones" not in columns:
        if starts is None:
            raise DatasetError(
                f"nothing tells where the episodes of {path} end",
                allowed="a map with terminals, dones, episode or first",
            )
        columns["terminals"] = np.zeros(rows, bool)
        if columns.get("timeouts") is None:
            notes.append(ENDS_UNKNOWN)
    return columns, notes
