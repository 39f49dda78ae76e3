"""Read any of the known formats into a `Dataset`, and write the ones that other tools read.

`load` and `save` are the whole interface. A format is told by the content of the source, never by its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlassay.data.dataset import COLUMNS, Dataset, Note
from rlassay.engine.files import (
    replacing,
    replacing_folder,
    require_writable,
    reserve,
)
from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import hub
from rlassay.formats.guards import holding_at_most, refusing
from rlassay.formats.mapping import column_map, map_text
from rlassay.formats.options import ReadOptions
from rlassay.words import suggest, suggest_path

READ_FORMATS = (
    "d4rl",
    "minari",
    "npz",
    "npy",
    "ogbench",
    "d3rlpy-v2",
    "d3rlpy-v1",
    "robomimic",
    "lerobot",
    "imitation",
    "stable-baselines",
    "unity",
    "table",
)
WRITE_FORMATS = ("d4rl", "npz", "minari", "minari-arrow", "minari-parquet")
_SUFFIXES = {".hdf5": "d4rl", ".h5": "d4rl", ".npz": "npz"}


def load(
    source: Any,
    *,
    format: str | None = None,
    env_id: str | None = None,
    mask: str | None = None,
    max_episode_steps: int | None = None,
    observation_keys: Sequence[str] | None = None,
    extras: bool = False,
    map: Any = None,
    memory: int | None = None,
) -> Dataset:
    """A Dataset from a path, a Minari id, a name on a hub, a mapping of columns or a `MinariDataset`.

    `format` forces a reader where two layouts look alike. `env_id` names the environment, `mask` chooses a filter key
    of a robomimic file, `max_episode_steps` cuts episodes of sources without timeouts, `observation_keys` chooses and
    orders the vectors of a dict of observations, and `extras` also reads arrays beside the schema. `map` says which
    column is what: `"observations=obs,actions=act,rewards=rew,episode=id"`, a saved TOML file of it, or a dict. `memory`
    is how many bytes may be held: matrices of a larger dataset stay on the disk and are read in blocks. A bad source
    raises `DatasetError`.
    """
    require_format(format)
    keys = tuple(observation_keys) if observation_keys else None
    options = ReadOptions(env_id, mask, max_episode_steps, keys, extras, column_map(map))
    if isinstance(source, Dataset):
        return _with_environment(source, env_id)
    asked = {"format": format, "env_id": env_id, "mask": mask, "map": map_text(map)}
    asked |= {"max_episode_steps": max_episode_steps, "observation_keys": keys, "memory": memory}
    given = {name: value for name, value in asked.items() if value is not None}
    with holding_at_most(memory):
        data = _load(source, format, options)
    return _with_origin(data, reading=given) if given else data


def require_format(name: str | None) -> None:
    """Refuse a format that no reader has: of all files alike, so not a file's fault."""
    if name is not None and name not in READ_FORMATS:
        meant = suggest(name, READ_FORMATS)
        raise SettingsError(f"unknown format{meant}", allowed=READ_FORMATS, got=name)


def with_extras(data: Dataset, source: Any, **options: Any) -> Dataset:
    """Data that was loaded from `source`, with the arrays beside its columns; nothing else about it changes."""
    if isinstance(source, Dataset):
        return data
    return _with_origin(data, extras=load(source, extras=True, **options).origin.extras)


def _load(source: Any, format: str | None, options: ReadOptions) -> Dataset:
    if isinstance(source, str) and hub.is_hub(source):
        return _load_fetched(hub.fetch(source), format, options)
    if isinstance(source, str | os.PathLike):
        path = _existing(source)
        name = path if isinstance(source, os.PathLike) or path.exists() else source
        with refusing(name, "a dataset"):
            return _reader_for(path, format, options)(path, options)
    with refusing("the object", "a dataset"):
        return _load_object(source, options)


def _load_fetched(fetched: hub.Fetched, format: str | None, options: ReadOptions) -> Dataset:
    with refusing(fetched.source, "a dataset"):
        data = _reader_for(fetched.path, format, options)(fetched.path, options)
    return _with_origin(data, source=fetched.source, pinned=fetched.pinned)


def save(
    data: Dataset,
    path: str | os.PathLike,
    *,
    format: str | None = None,
    overwrite: bool = True,
    like: str | os.PathLike | None = None,
) -> tuple[Note, ...]:
    """Write a Dataset; the result names what the format cannot hold. The target is whole or unchanged.

    `like` is the source whose permissions and owner the result keeps.
    """
    target = Path(path)
    chosen = _write_format(target, format)
    if not chosen.startswith("minari"):
        require_writable(target, streams=False)
    _refuse_occupied(target, overwrite)
    if chosen.startswith("minari"):
        data_format = chosen.partition("-")[2] or "hdf5"
        return tuple(_save_minari(data, target, data_format, like, overwrite))
    from rlassay.formats import d4rl, npz

    with replacing(target, like=like, alone=True) as temporary:
        _refuse_occupied(target, overwrite)  # again: now nobody else writes it
        reserve(temporary, _size_on_disk(data))
        return tuple((d4rl if chosen == "d4rl" else npz).write(data, temporary))


def convert(
    source: Any,
    path: str | os.PathLike,
    *,
    to: str | None = None,
    overwrite: bool = False,
    **load_options: Any,
) -> tuple[Dataset, tuple[Note, ...]]:
    """Load with everything the source holds and save it; the notes say what the target cannot hold."""
    check_target(Path(path), to, overwrite=overwrite)
    data = load(source, extras=True, **load_options)
    like = data.origin.source if isinstance(source, str | os.PathLike) else None
    return data, save(data, path, format=to, overwrite=overwrite, like=like)


def check_target(path: Path, to: str | None, *, overwrite: bool) -> None:
    """Refuse what `save` would refuse, before anything is read."""
    _refuse_occupied(path, overwrite)
    folder = _write_format(path, to).startswith("minari")
    require_writable(path, folder=folder, streams=False)


def _refuse_occupied(path: Path, overwrite: bool) -> None:
    if not overwrite and (path.exists() or path.is_symlink()):
        raise DatasetError(
            f"{path} exists", remedy="name another place, or replace it with --force"
        )


def _existing(source: str | os.PathLike) -> Path:
    with refusing(source, "a path"):
        path = _expanded(source)
        if path.exists():
            return path
    from rlassay.formats.minari_format import local_dataset

    found = local_dataset(str(source))
    if found is None:
        raise DatasetError(
            f"{source} does not exist{suggest_path(path)}",
            allowed="a file, a dataset folder, or the id of a local Minari dataset",
            remedy="check the path; Minari ids are looked up in $MINARI_DATASETS_PATH",
        )
    return found


def _expanded(source: str | os.PathLike) -> Path:
    try:
        return Path(source).expanduser()
    except RuntimeError:  # a home of nobody, as in ~nosuchuser/x
        raise DatasetError(
            f"{source} begins with the home of an unknown user",
            remedy="check the name behind ~, or write the path in full",
        ) from None


def _reader_for(
    path: Path, format: str | None, options: ReadOptions
) -> Callable[[Path, ReadOptions], Dataset]:
    from rlassay.formats import detect

    if options.map is not None:
        return _reader("lerobot" if format == "lerobot" or _is_lerobot(path) else "mapped")
    name = format or detect.format_of(path)
    if options.mask is not None and name != "robomimic":
        raise DatasetError(
            f"{path} is of the format {name}, which has no masks", remedy="leave out the mask"
        )
    return _reader(name)


def _is_lerobot(path: Path) -> bool:
    from rlassay.formats import lerobot

    return path.is_dir() and lerobot.recognises(path)


def _reader(name: str) -> Callable[[Path, ReadOptions], Dataset]:
    """Each branch imports the one library that its format needs."""
    if name in ("npz", "npy"):
        from rlassay.formats import npz as module
    elif name == "ogbench":
        from rlassay.formats import ogbench as module
    elif name == "minari":
        from rlassay.formats import minari_format as module
    elif name == "lerobot":
        from rlassay.formats import lerobot as module
    elif name == "robomimic":
        from rlassay.formats import robomimic as module
    elif name == "d4rl":
        from rlassay.formats import d4rl as module
    elif name == "imitation":
        from rlassay.formats import imitation as module
    elif name == "stable-baselines":
        from rlassay.formats import stable_baselines as module
    elif name == "unity":
        from rlassay.formats import unity as module
    elif name in ("mapped", "table"):
        from rlassay.formats import mapped

        return mapped.read if name == "mapped" else mapped.read_table
    else:
        from rlassay.formats import d3rlpy_format

        return d3rlpy_format.read_v2 if name == "d3rlpy-v2" else d3rlpy_format.read_v1
    return module.read


def _load_object(source: Any, options: ReadOptions) -> Dataset:
    if isinstance(source, Mapping):
        from rlassay.formats import arrays

        return arrays.read(source, options)
    if type(source).__module__.startswith("minari."):
        from rlassay.formats import minari_format

        return minari_format.read_object(source, options)
    raise DatasetError(
        "the source is of an unknown type",
        allowed="a path, a Minari id, a mapping of columns, a MinariDataset, a Dataset",
        got=type(source).__name__,
    )


def _with_environment(data: Dataset, env_id: str | None) -> Dataset:
    if env_id is None or env_id == data.env_id:
        return data
    reading = {**data.origin.reading, "env_id": env_id}
    return _with_origin(data, env_id=env_id, reading=reading)


def _with_origin(data: Dataset, **changes: Any) -> Dataset:
    """The same columns under a changed origin."""
    return Dataset(data._columns, data.episode_starts, replace(data.origin, **changes))


def _write_format(path: Path, format: str | None) -> str:
    from rlassay.formats.minari_format import DATASET_ID

    if format is not None:
        if format not in WRITE_FORMATS:
            raise DatasetError("unknown format to write", allowed=WRITE_FORMATS, got=format)
        return format
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    if DATASET_ID.fullmatch(path.name):
        return "minari"
    raise DatasetError(
        f"the name {path.name} tells no format",
        allowed=".hdf5 or .h5 (D4RL), .npz, name-vN (a Minari folder)",
        remedy="rename it or name the format",
    )


def _save_minari(
    data: Dataset, path: Path, data_format: str, like: Any, overwrite: bool
) -> list[Note]:
    """Write beside the target, then swap; only a Minari dataset is ever replaced."""
    from rlassay.formats import minari_format, minari_write

    name = minari_write.dataset_id(path)
    occupied = path.exists() or path.is_symlink()
    if occupied and (path.is_symlink() or minari_format.data_folder(path) is None):
        raise DatasetError(f"{path} exists and is no Minari dataset", remedy="name another place")
    with replacing_folder(path, like=like, alone=True) as temporary:
        _refuse_occupied(path, overwrite)
        reserve(temporary / "space", _size_on_disk(data, per_episode=8_192))
        (temporary / "space").unlink()
        return minari_write.write(data, temporary, name, data_format)


def _size_on_disk(data: Dataset, per_episode: int = 0) -> int:
    """An upper bound: everything uncompressed, with the containers' own records."""
    columns = [getattr(data, name) for name in COLUMNS]
    arrays = [*(column for column in columns if column is not None), *data.origin.extras.values()]
    return (
        int(1.05 * sum(array.nbytes for array in arrays))
        + 65_536
        + per_episode * data.episode_count
    )
