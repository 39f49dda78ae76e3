"""RLDS steps in a table: `is_first`, `is_last`, `is_terminal`, and the action taken at each observation.

The last step of an RLDS episode is a state without a transition: its action and reward mean nothing. Its observation
follows the step before it, which is terminal where `is_terminal` says so and cut otherwise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.formats.assemble import assemble, left_out
from rlassay.formats.containers import Container
from rlassay.formats.mapping import ROLES
from rlassay.formats.options import ReadOptions

FORMAT = "rlds"
FLAGS = ("is_first", "is_last", "is_terminal")


def read(container: Container, path: Path, options: ReadOptions) -> Dataset:
    """Every transition; the state rows at the episodes' ends become next observations."""
    found = {role: _read(container, role) for role in ("observations", "actions", "rewards")}
    if found["observations"] is None or found["actions"] is None:
        raise DatasetError(
            f"{path} lacks columns of RLDS steps",
            allowed="observation, action, reward, is_first, is_last, is_terminal",
            got=container.names()[:20],
        )
    observations = checks.as_array("observations", found["observations"])
    rows = checks.row_count(observations)
    first, last, terminal = (_flags(container, name, rows) for name in FLAGS)
    _check_borders(first, last, path)
    kept = np.flatnonzero(~last)
    if len(kept) == 0:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    rewards = found["rewards"]
    return assemble(
        {
            "observations": observations[kept],
            "actions": checks.as_array("actions", found["actions"])[kept],
            "rewards": None if rewards is None else rewards[kept],
            "next_observations": observations[kept + 1],
            "terminals": (last & terminal)[kept + 1],
            "timeouts": (last & ~terminal)[kept + 1],
        },
        options,
        source=path,
        format_name=FORMAT,
        notes=left_out(set(container.names()) - {*FLAGS, *_names()}, options),
    )


def _names() -> set[str]:
    return {name for role in ("observations", "actions", "rewards") for name in ROLES[role]}


def _read(container: Container, role: str) -> np.ndarray | None:
    known = container.names()
    name = next((alias for alias in ROLES[role] if alias in known), None)
    return None if name is None else container.read(name)


def _flags(container: Container, name: str, rows: int) -> np.ndarray:
    column = container.read(name)
    return np.zeros(rows, bool) if column is None else checks.flags(name, column, rows)


def _check_borders(first: np.ndarray, last: np.ndarray, path: Path) -> None:
    """Every `is_last` is followed by an `is_first`, and the table begins and ends with a whole episode."""
    if not (first[0] and last[-1] and np.array_equal(first[1:], last[:-1])):
        odd = np.flatnonzero(first[1:] != last[:-1])
        raise DatasetError(
            f"the episodes of {path} are not whole: `is_first` and `is_last` do not meet",
            got=f"row {int(odd[0]) + 1}" if len(odd) else "the first or the last row",
            remedy="rows are missing or out of order; write the episodes one after another",
        )
