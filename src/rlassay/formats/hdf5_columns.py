"""Every array of an HDF5 file as a named column, its path being its name."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import h5py
import numpy as np

from rlassay.formats import hdf5
from rlassay.formats.guards import Budget


class Hdf5Columns:
    """Arrays by path; nothing is read before it is asked for."""

    kind = "hdf5"

    def __init__(self, path: Path, budget: Budget):
        self.path, self.budget = path, budget
        self._stack = ExitStack()
        self._items: dict[str, tuple[h5py.Group, str]] = {}

    def __enter__(self) -> Hdf5Columns:
        file = self._stack.enter_context(hdf5.opened(self.path))
        for path, group, name, item in hdf5.leaves(file):
            if item.shape not in ((), None):
                self._items[path] = (group, name)
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.__exit__(*details)  # type: ignore[arg-type]

    def names(self) -> list[str]:
        return list(self._items)

    def read(self, name: str) -> np.ndarray | None:
        place = self._items.get(name)
        return None if place is None else hdf5.read(*place, self.budget)
