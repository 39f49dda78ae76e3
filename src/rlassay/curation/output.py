"""Where a curation goes: a dataset in the source's own format, some episodes of a d3rlpy dump, a robomimic mask, or a list.

Everything is checked before scores are computed, written beside its target and renamed, so the source never changes
and a full disk leaves nothing behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from rlassay.data.dataset import Dataset, Note
from rlassay.engine.files import require_writable
from rlassay.errors import DatasetError, SettingsError

LIST_ENDINGS = (".csv", ".txt")
OWN_WRITABLE = {"d4rl": "d4rl", "npz": "npz", "npy": "npz", "arrays": None, "minari": "minari"}
Kind = Literal["dataset", "subset", "mask", "list", "command"]


@dataclass(frozen=True)
class Target:
    """What will be written, and where."""

    path: Path
    kind: Kind
    format: str | None = None  # of a dataset
    mask: str | None = None  # filter key of a robomimic file
    backup: Path | None = None  # copy of the source, when the mask goes into the source itself


def plan(
    data: Dataset,
    source: Path,
    out: Path | None,
    *,
    format: str | None = None,
    mask: str | None = None,
    in_place: bool = False,
    force: bool = False,
) -> Target:
    """Decide what `-o OUT` becomes; whatever would fail later is refused here."""
    robomimic = data.origin.format == "robomimic"
    if (mask or in_place) and not robomimic:
        raise SettingsError(
            f"{source} is of the format {data.origin.format}, which has no masks",
            remedy="leave out --mask and name the curated copy with -o OUT",
        )
    if in_place:
        return _plan_in_place(source, out, mask, force)
    lerobot = data.origin.format == "lerobot" and format is None
    if out is None:
        if lerobot:
            return Target(source, "command")
        raise SettingsError("no output is named", remedy="add -o OUT, or look first with --dry-run")
    _refuse_source(source, out)
    if out.suffix.lower() in LIST_ENDINGS and format is None and not mask:
        target = Target(out, "list")
    elif lerobot:
        target = Target(out, "command")
    elif robomimic and format is None and (mask or _looks_like_hdf5(out)):
        target = Target(out, "mask", mask=mask or "curated")
    elif data.origin.format == "d3rlpy-v2" and format is None and _looks_like_hdf5(out):
        target = Target(out, "subset")
    else:
        target = Target(out, "dataset", format or _own_format(data, out))
    if (out.exists() or out.is_symlink()) and not force:
        raise DatasetError(f"{out} exists", remedy="name another place, or replace it with --force")
    minari = (target.format or "").startswith("minari")
    require_writable(
        out, folder=minari or not out.suffix, streams=target.kind in ("list", "command")
    )
    return target


def _plan_in_place(source: Path, out: Path | None, mask: str | None, force: bool) -> Target:
    if out is not None:
        raise SettingsError("--mask-in-place and -o are both given", allowed="one of them")
    backup = source.with_name(f"{source.name}.bak")
    if backup.exists() and not force:
        raise DatasetError(
            f"the backup {backup} exists", remedy="move it away, or replace it with --force"
        )
    return Target(source, "mask", mask=mask or "curated", backup=backup)


def _refuse_source(source: Path, out: Path) -> None:
    if out.exists() and source.exists() and out.samefile(source):
        raise SettingsError(
            f"{out} is the source itself, which is never changed", remedy="name another place"
        )


def _looks_like_hdf5(out: Path) -> bool:
    return out.suffix.lower() in (".hdf5", ".h5")


def _own_format(data: Dataset, out: Path) -> str | None:
    """None lets the ending of OUT decide; a source whose format we do not write needs a word from the user."""
    own = data.origin.format
    if own == "minari" and not out.suffix:
        stored = data.origin.metadata.get("data_format", "hdf5")
        return "minari" if stored == "hdf5" else f"minari-{stored}"
    if own in OWN_WRITABLE:
        return None
    raise SettingsError(
        f"datasets of the format {own} are read but not written",
        allowed="-o LIST.csv for the list of episodes, or --to d4rl, minari or npz for a dataset",
        got=f"-o {out}",
    )


def write(
    data: Dataset,
    kept: np.ndarray,
    source: Path,
    target: Target,
    provenance: str,
    episodes: int = 0,
) -> tuple[Note, ...]:
    """Write the curated `data`; `kept` numbers its episodes among those `episodes` of the source. The result names what was lost."""
    if target.kind == "list":
        from rlassay.formats.episode_lists import write_episode_list

        write_episode_list(target.path, kept, like=source)
        return ()
    if target.kind == "command":
        return ()
    if target.kind == "dataset":
        from rlassay.formats import save

        return save(data, target.path, format=target.format, like=source)
    if target.kind == "subset":
        from rlassay.formats.d3rlpy_subset import write_subset

        write_subset(source, target.path, kept.tolist(), episodes, provenance)
        return ()
    from rlassay.formats.robomimic_mask import read_demos, write_mask

    names = read_demos(source, data.origin.metadata.get("mask"))
    chosen = [names[int(episode)] for episode in kept]
    write_mask(source, target.path, str(target.mask), chosen, provenance, target.backup)
    return ()
