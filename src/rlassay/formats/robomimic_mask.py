"""Filter keys of robomimic files: which demos a mask may name, and a copy of the file with one more mask."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np

from rlassay.engine.files import replacing, reserve
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.robomimic import chosen_demos


def read_demos(source: Path, mask: str | None = None) -> list[str]:
    """Names of the demos in the order of the reader: numeric, those of the mask alone, empty ones left out."""
    with hdf5.opened(source, "robomimic HDF5") as file:
        data = hdf5.child(file, "data")
        assert isinstance(data, h5py.Group)
        return [name for name in chosen_demos(file, data, mask) if len(data[f"{name}/actions"])]  # type: ignore[arg-type]


def write_mask(
    source: Path, path: Path, key: str, demos: list[str], provenance: str, backup: Path | None
) -> None:
    """A copy of the source with `mask/KEY` takes the place of `path`; with a `backup` the source is copied there first."""
    if backup is not None:
        with replacing(backup, like=source) as temporary:
            shutil.copyfile(source, temporary)
    with replacing(path, like=source) as temporary:
        reserve(temporary, source.stat().st_size + 65_536 + 64 * len(demos))
        shutil.copyfile(source, temporary)
        _add_mask(temporary, key, demos, provenance)


def _add_mask(path: Path, key: str, demos: list[str], provenance: str) -> None:
    with h5py.File(path, "r+") as file:
        masks = file.require_group("mask")
        if key in masks:
            raise DatasetError(
                f"the file has a mask {key} already", remedy="choose another key with --mask KEY"
            )
        stored = masks.create_dataset(key, data=np.array(demos, dtype="S"))
        stored.attrs["rlassay"] = provenance
