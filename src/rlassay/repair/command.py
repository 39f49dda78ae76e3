"""A repair from file to file: read with everything the source holds, apply, write, and tell what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.repair.applying import chosen, repair


def repair_file(
    source: str,
    out: Path | None,
    *,
    only: Sequence[str] | None = None,
    actions: str = "clip",
    to: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The JSON of `rlassay.repair/1`. Whatever can be refused is refused before the source is read."""
    from rlassay.formats import load, save

    chosen(only)
    if not dry_run:
        out = _free(out, to, force)
    options = dict(reading or {})
    data = load(source, extras=True, **options)
    _refuse_source(Path(data.origin.source), out)
    result = repair(data, only=only, actions=actions, cut_by_reader=_cut_by_reader(data, options))
    told = result.to_dict(None if dry_run else str(out)) | {"dry_run": dry_run}
    if not dry_run and out is not None:
        lost = save(result.data, out, format=to, overwrite=force, like=data.origin.source)
        told["lost"] = [note.message for note in lost]
    return told


def _free(out: Path | None, to: str | None, force: bool) -> Path:
    """OUT, if a dataset may be written there."""
    from rlassay.formats import check_target

    if out is None:
        raise SettingsError("no output is named", remedy="add -o OUT, or look first with --dry-run")
    check_target(out, to, overwrite=force)
    return out


def _refuse_source(source: Path, out: Path | None) -> None:
    if out is not None and out.exists() and source.exists() and out.samefile(source):
        raise DatasetError(
            f"{out} is the source itself, which is never changed", remedy="name another place"
        )


def _cut_by_reader(data: Dataset, options: Mapping[str, Any]) -> int:
    """Timeouts that reading set at the step limit: they belong to the repair, so they are counted."""
    from rlassay.formats import load

    if any(note.code == "timeouts_missing" for note in data.origin.notes):
        return int(data.timeouts.sum())
    if not options.get("max_episode_steps"):
        return 0
    plain = load(data.origin.source, **{**options, "max_episode_steps": None})
    return int(np.count_nonzero(data.timeouts & ~plain.timeouts))
