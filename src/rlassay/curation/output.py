"""Where a curation goes: a dataset in the source's own format, a robomimic mask, or a list of episodes.

Everything is checked before scores are computed, written beside its target and renamed, so the source never changes
and a full disk leaves nothing behind.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from rlassay.data.dataset import Dataset, Note
from rlassay.engine.files import replacing, require_writable, reserve, write_atomically
from rlassay.errors import DatasetError, SettingsError

LIST_ENDINGS = (".csv", ".txt")
OWN_WRITABLE = {"d4rl": "d4rl", "npz": "npz", "npy": "npz", "arrays": None, "minari": "minari"}
Kind = Literal["dataset", "mask", "list", "command"]


@dataclass(frozen=True)
class Target:
    """What will be written, and where."""

    path: Path
    kind: Kind
    format: str | None = None  # of a dataset
    mask: str | None = None  # filter key of a robomimic file
    backup: Path | None = None  # copy of the source, when the mask goes into the source itself


def plan(
    data: Dataset, source: Path, out: Path | None, *,
    format: str | None = None, mask: str | None = None, in_place: bool = False, force: bool = False,
) -> Target:  # fmt: skip
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
        allowed="-o LIST.csv for the list of episodes, or --format d4rl, minari or npz for a dataset",
        got=f"-o {out}",
    )


def write(
    data: Dataset, kept: np.ndarray, source: Path, target: Target, provenance: str
) -> tuple[Note, ...]:
    """Write the curated `data`; `kept` numbers its episodes in the source. The result names what was lost."""
    if target.kind == "list":
        numbers = "".join(f"{episode}\n" for episode in kept)
        write_atomically(target.path, f"episode\n{numbers}", like=source)
        return ()
    if target.kind == "command":
        return ()
    if target.kind == "dataset":
        from rlassay.formats import save

        return save(data, target.path, format=target.format, like=source)
    names = robomimic_demos(source, data.origin.metadata.get("mask"))
    chosen = [names[int(episode)] for episode in kept]
    _write_mask(source, target, chosen, provenance)
    return ()


def robomimic_demos(source: Path, mask: str | None = None) -> list[str]:
    """Names of the demos in the order of the reader: numeric, those of the mask alone, empty ones left out."""
    import h5py

    with h5py.File(source, "r") as file:
        group = file["data"]
        assert isinstance(group, h5py.Group)
        demos = (str(name) for name in group if str(name).startswith("demo_"))
        names = sorted(demos, key=lambda name: int(name.removeprefix("demo_")))
        if mask is not None:
            wanted = {name.decode() for name in file[f"mask/{mask}"][()]}  # type: ignore[index,union-attr]
            names = [name for name in names if name in wanted]
        return [name for name in names if len(group[f"{name}/actions"])]  # type: ignore[arg-type]


def _write_mask(source: Path, target: Target, demos: list[str], provenance: str) -> None:
    """A copy of the source with `mask/KEY` takes the target's place; in place, the old file stays as a backup."""
    if target.backup is not None:
        with replacing(target.backup, like=source) as temporary:
            shutil.copyfile(source, temporary)
    with replacing(target.path, like=source) as temporary:
        reserve(temporary, source.stat().st_size + 65_536 + 64 * len(demos))
        shutil.copyfile(source, temporary)
        _add_mask(temporary, str(target.mask), demos, provenance)


def _add_mask(path: Path, key: str, demos: list[str], provenance: str) -> None:
    import h5py

    with h5py.File(path, "r+") as file:
        masks = file.require_group("mask")
        if key in masks:
            raise DatasetError(
                f"the file has a mask {key} already", remedy="choose another key with --mask KEY"
            )
        stored = masks.create_dataset(key, data=np.array(demos, dtype="S"))
        stored.attrs["rlassay"] = provenance


def lerobot_episodes(data: Dataset, source: Path) -> np.ndarray:
    """The dataset's own `episode_index` of every episode, for commands of the lerobot package."""
    import pyarrow.parquet

    files = sorted((source / "data").glob("chunk-*/*.parquet"))
    tables = [
        pyarrow.parquet.read_table(file, columns=["index", "episode_index"]) for file in files
    ]
    index = np.concatenate([table["index"].to_numpy() for table in tables])
    episode = np.concatenate([table["episode_index"].to_numpy() for table in tables])
    named = episode[np.argsort(index, kind="stable")][data.episode_starts]
    if len(np.unique(named)) != len(named):
        raise DatasetError(
            "an episode of the source is marked done inside, so whole episodes cannot be deleted",
            remedy="write a dataset instead: -o OUT --format npz",
        )
    return named


def lerobot_delete_command(source: Path, out: Path | None, episodes: np.ndarray) -> str:
    """A command of the lerobot package (for v3 datasets) that writes a copy without these episodes."""
    new = source.with_name(source.name + "_curated") if out is None else out
    options = {
        "--repo_id": source.resolve().name,
        "--root": str(source),
        "--new_repo_id": new.name,
        "--new_root": str(new),
        "--operation.type": "delete_episodes",
        "--operation.episode_indices": str([int(episode) for episode in episodes]),
    }
    return shlex.join(
        ["lerobot-edit-dataset", *(f"{key}={value}" for key, value in options.items())]
    )
