"""Some episodes of a d3rlpy dump (version 2) as another dump: arrays are copied as they are and numbered anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py

from rlassay.engine.files import replacing, reserve
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.d3rlpy_format import check_version, episode_count


def write_subset(
    source: Path, path: Path, kept: Sequence[int], episodes: int, provenance: str
) -> None:
    """The kept ones of the `episodes` that were read, in their order; empty ones were not read and are not kept."""
    with hdf5.opened(source, "a d3rlpy dump") as file:
        check_version(file, source)
        names = _filled(file)
        if len(names) != episodes:
            raise DatasetError(
                f"{source} has {len(names):,} episodes and was read as {episodes:,}",
                remedy="leave out --max-episode-steps, or write a dataset with --to npz",
            )
        with replacing(path, like=source) as temporary:
            reserve(temporary, source.stat().st_size)
            _copy(file, temporary, [names[int(episode)] for episode in kept], provenance)


def _filled(file: h5py.File) -> list[int]:
    """Numbers of the episodes that hold a transition, as the reader counts them."""
    return [
        number
        for number in range(episode_count(file))
        if len(file[f"observations_{number}"])  # type: ignore[arg-type]
    ]


def _copy(file: h5py.File, path: Path, chosen: Sequence[int], provenance: str) -> None:
    columns = hdf5.strings(file, "columns")
    with h5py.File(path, "w") as out:
        for name in ("columns", "version"):
            file.copy(name, out)
        out["num_episodes"] = len(chosen)
        out.attrs["rlassay"] = provenance
        for place, number in enumerate(chosen):
            for column in columns:
                file.copy(f"{column}_{number}", out, name=f"{column}_{place}")
