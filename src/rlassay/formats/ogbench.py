"""OGBench `.npz`: every trajectory ends in a state row without a transition, marked by `terminals`.

The files hold no rewards. A trajectory's end is a cut, not the end of a task, so it is read as a timeout, and the
state behind the last transition is known.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.formats.assemble import assemble, left_out
from rlassay.formats.guards import Budget
from rlassay.formats.npy import Archive
from rlassay.formats.npz import numeric_extras
from rlassay.formats.options import ReadOptions

FORMAT = "ogbench"
REQUIRED = ("observations", "actions", "terminals")
SIMULATOR_STATE = ("qpos", "qvel", "button_states")


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every transition; the state rows at the trajectories' ends become next observations."""
    with Archive(path, Budget(path)) as archive:
        columns = {name: archive.read(name) for name in REQUIRED}
        names = [name for name in archive.names() if name not in REQUIRED] if options.extras else []
        rest, lost = numeric_extras(archive, names)
    if any(column is None for column in columns.values()):
        raise DatasetError(
            f"{path} lacks columns of OGBench's layout", allowed=REQUIRED, got=archive.names()
        )
    observations = checks.as_array("observations", columns["observations"])
    last = checks.flags("terminals", columns["terminals"], checks.row_count(observations))
    kept = _transition_rows(last, path)
    if len(checks.as_array("actions", columns["actions"])) != len(observations):
        raise checks.ShapeError(f"{path}: actions and observations differ in length")
    extras = {name: a[kept] for name, a in rest.items() if a.ndim and len(a) == len(last)}
    return assemble(
        {
            "observations": observations[kept],
            "actions": columns["actions"][kept],  # type: ignore[index]
            "next_observations": observations[kept + 1],
            "terminals": np.zeros(len(kept), bool),
            "timeouts": last[kept + 1],
        },
        options,
        source=path,
        format_name=FORMAT,
        extras=extras,
        notes=left_out(lost, options),
    )


def _transition_rows(last: np.ndarray, path: Path) -> np.ndarray:
    if not last[-1]:
        raise DatasetError(
            f"{path} does not end with a trajectory's last state",
            remedy="the file is cut short, or it is a plain archive: read it with --format npz",
        )
    kept = np.flatnonzero(~last)
    if len(kept) == 0:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    return kept
