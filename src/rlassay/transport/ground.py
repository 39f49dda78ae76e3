"""How far discrete actions lie apart: 0 or 1, or as a matrix in a file says."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rlassay.data.discrete import ActionNumbers
from rlassay.errors import SettingsError

Metric = Callable[[np.ndarray, np.ndarray], np.ndarray]


def ground_metric(path: str | None, numbers: ActionNumbers) -> Metric:
    """The distance that takes the place of |a'-a|^2 between numbered actions."""
    if path is None:
        return zero_one
    file = Path(path)
    changed = file.stat().st_mtime_ns if file.exists() else 0
    matrix = _read(path, changed)
    wanted = (numbers.count, numbers.count)
    if matrix.shape != wanted or not np.isfinite(matrix).all() or (matrix < 0).any():
        lowest = float(np.nanmin(matrix)) if matrix.size else 0.0
        raise SettingsError(
            f"{path} holds no distances between the {numbers.count} actions",
            allowed=f"a matrix of {wanted[0]} x {wanted[1]} finite numbers, 0 or more",
            got=f"{' x '.join(map(str, matrix.shape))}, the lowest {lowest:g}",
        )
    return functools.partial(_looked_up, matrix, numbers.first)


def zero_one(actions: np.ndarray, random_actions: np.ndarray) -> np.ndarray:
    """0 for the same action, else 1."""
    return (actions != random_actions).any(axis=-1).astype(np.float64)


def _looked_up(
    matrix: np.ndarray, first: int, actions: np.ndarray, random_actions: np.ndarray
) -> np.ndarray:
    places = (values[..., 0].astype(np.int64) - first for values in (actions, random_actions))
    return matrix[tuple(places)]


@functools.lru_cache(maxsize=4)
def _read(path: str, changed: int) -> np.ndarray:
    """A `.npy` file, or numbers with commas between them; `changed` tells one content of a path from another."""
    try:
        if path.endswith(".npy"):
            return np.atleast_2d(np.load(path, allow_pickle=False)).astype(np.float64)
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the distances in {path} cannot be read ({str(error).splitlines()[0]})",
            allowed="a .npy file, or one row of numbers a line with commas between them",
        ) from None
