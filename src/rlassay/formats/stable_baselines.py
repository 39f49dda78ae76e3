"""Expert data of Stable-Baselines: an `.npz` with flags on the first row of each episode.

Why an episode ended is not stored, and the observation behind its last action is not either.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats.assemble import ENDS_UNKNOWN, assemble
from rlassay.formats.guards import Budget
from rlassay.formats.npy import Archive
from rlassay.formats.options import ReadOptions
from rlassay.formats.rows import Steps, order_of

FORMAT = "stable-baselines"
REQUIRED = ("obs", "actions", "rewards", "episode_returns", "episode_starts")


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every row; the stated returns are compared with the rewards."""
    with Archive(path, Budget(path)) as archive:
        if not set(REQUIRED) <= set(archive.names()):
            raise DatasetError(
                f"{path} lacks columns of Stable-Baselines", allowed=REQUIRED, got=archive.names()
            )
        obs, actions, rewards, returns, first = (archive.read(name) for name in REQUIRED)
    rows = checks.row_count(obs)
    _, starts = order_of(Steps(None, None, first), rows, path)
    notes = [ENDS_UNKNOWN, *_other_returns(rewards, returns, starts)]
    return assemble(
        {
            "observations": obs,
            "actions": actions,
            "rewards": rewards,
            "terminals": np.zeros(rows, bool),
            "episode_starts": starts,
        },
        options,
        source=path,
        format_name=FORMAT,
        notes=notes,
    )


def _other_returns(rewards, returns, starts) -> list[Note]:
    sums = np.add.reduceat(checks.as_array("rewards", rewards).ravel().astype(float), starts)
    stated = checks.as_array("episode_returns", returns).ravel()
    if len(stated) == len(sums) and np.allclose(stated, sums, rtol=1e-3, atol=1e-3):
        return []
    message = f"the file states {len(stated):,} returns that are not the sums of its {len(sums):,} episodes' rewards"
    return [Note("returns_differ", message, "fetch or write the file again")]
