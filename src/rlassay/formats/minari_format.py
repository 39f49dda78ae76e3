"""Minari: read and written through the `minari` library, without making an environment.

The library makes an environment when a dataset states no spaces, and reads files without bounds. So the metadata and
the data files are checked first, and only spaces of vectors reach it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.blocks import Matrix, spans_of
from rlassay.data.dataset import Dataset, Note
from rlassay.data.references import usable_reference
from rlassay.errors import DatasetError
from rlassay.formats import hdf5
from rlassay.formats.assemble import assemble, empty_note, join_vectors, left_out, refuse_image
from rlassay.formats.guards import Budget, parsed_object, plain_file, read_json
from rlassay.formats.options import ReadOptions
from rlassay.formats.spilled import Gathered

T = TypeVar("T")
FORMAT = "minari"
DATA_FORMATS = ("hdf5", "arrow", "parquet")
DATASET_ID = re.compile(r"(?:[-_\w]+/)*[-_\w]+-v\d+")
SPACE_LIMIT = 1_000_000  # numbers in one row of a space
# the library's Arrow reader takes the first batch of this size as the whole episode
BATCH_ROWS = 131_072
OBSERVED, TAKEN = "o/", "a/"  # before the keys of observations and actions, while they are gathered
OWN_KEY = "rlassay"  # in metadata.json: what Minari has no place for
KEPT = (
    "dataset_id",
    "minari_version",
    "data_format",
    "algorithm_name",
    "author",
    "author_email",
    "code_permalink",
    "description",
    "requirements",
    "ref_min_score",
    "ref_max_score",
    "combined_datasets",
)


def data_folder(path: Path) -> Path | None:
    """The folder with `metadata.json`, from the dataset's folder or from itself; None when it is not Minari's."""
    for folder in (path / "data", path):
        file = folder / "metadata.json"
        if file.is_file() and "data_format" in read_json(file):
            return folder
    return None


def local_dataset(name: str) -> Path | None:
    """The folder of a dataset id below the user's Minari root; None when it is not there."""
    if not DATASET_ID.fullmatch(name):
        return None
    root = Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")
    return root / name if (root / name / "data").is_dir() else None


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every episode of a dataset folder."""
    folder = data_folder(path)
    if folder is None:
        raise DatasetError(
            f"{path} is not a Minari dataset", allowed="a folder with data/metadata.json"
        )
    return _read(folder, None, path, options)


def read_object(dataset: Any, options: ReadOptions) -> Dataset:
    """The episodes of a `MinariDataset`, which may be a filtered view."""
    folder = Path(dataset.storage.data_path)
    episodes = [int(index) for index in dataset.episode_indices]
    return _read(folder, episodes, str(dataset.id), options)


def _read(
    folder: Path, episodes: list[int] | None, source: object, options: ReadOptions
) -> Dataset:
    metadata = read_json(folder / "metadata.json")
    _check_metadata(metadata, folder)
    filtered = episodes is not None
    if episodes is None:
        episodes = list(range(metadata["total_episodes"]))
    large = _check_files(folder, metadata["data_format"], episodes)
    from minari.dataset.minari_storage import MinariStorage

    storage = MinariStorage.read(folder)
    kept = {key: metadata[key] for key in KEPT if key in metadata}
    inferred = own_record(metadata, "bounds_from_data", bool)
    columns, notes = _columns(storage, episodes, metadata, options, large)
    return assemble(
        columns,
        options,
        source=source,
        format_name=FORMAT,
        env_id=_environment(metadata),
        bounds=None if inferred else _bounds(storage.action_space),
        reference=usable_reference(metadata.get("ref_min_score"), metadata.get("ref_max_score")),
        notes=[*notes, *_counts_differ(columns, folder, metadata, filtered)],
        metadata={**own_record(metadata, "metadata", dict), **kept},
    )


def _counts_differ(
    columns: dict[str, Any], folder: Path, metadata: dict[str, Any], filtered: bool
) -> list[Note]:
    """What the metadata promises and the data does not hold, or the other way round."""
    notes, promised = [], metadata.get("total_steps")
    rows = len(columns["rewards"])
    if not filtered and isinstance(promised, int) and promised != rows:
        message = f"the metadata promises {promised:,} steps and the episodes hold {rows:,}"
        notes.append(Note("steps_differ", message, "fetch the dataset again, or mend total_steps"))
    stored = _stored_episodes(folder, metadata["data_format"])
    if stored > metadata["total_episodes"]:
        message = f"the files hold {stored:,} episodes and the metadata counts {metadata['total_episodes']:,}; the rest is not read"
        remedy = "fetch the dataset again, or mend total_episodes in metadata.json"
        notes.append(Note("episodes_differ", message, remedy, (rows,)))
    return notes


def _stored_episodes(folder: Path, form: str) -> int:
    if form != "hdf5":
        return sum(item.name.isdecimal() and item.is_dir() for item in folder.iterdir())
    with hdf5.opened(folder / "main_data.hdf5", "Minari HDF5") as file:
        return sum(re.fullmatch(r"episode_\d+", name) is not None for name in hdf5.names(file))


def _check_metadata(metadata: dict[str, Any], folder: Path) -> None:
    from minari import supported_dataset_versions

    version, form = metadata.get("minari_version"), metadata.get("data_format")
    if version not in supported_dataset_versions:
        raise DatasetError(
            f"{folder} was written by Minari {version}",
            allowed=sorted(supported_dataset_versions),
            remedy="install a newer `minari`",
        )
    if form not in DATA_FORMATS:
        raise DatasetError(f"{folder} has an unknown data format", allowed=DATA_FORMATS, got=form)
    count = metadata.get("total_episodes")
    if not isinstance(count, int) or not 0 <= count <= hdf5.MEMBER_LIMIT:
        raise DatasetError(f"{folder} states no number of episodes", got=count)
    for name in ("observation_space", "action_space"):
        space = metadata.get(name)
        if not isinstance(space, str):
            raise DatasetError(
                f"{folder} states no {name}",
                remedy="write it again with minari 0.5 and explicit spaces",
            )
        _check_space(name, parsed_object(space))


def _check_space(name: str, space: Any, depth: int = 0) -> None:
    """Refuse a space that is no vector, before the library builds it."""
    kind = space.get("type") if isinstance(space, dict) else None
    parts = space.get("subspaces") if kind in ("Dict", "Tuple") else None
    if isinstance(parts, dict | list) and depth < 8:
        for part in parts.values() if isinstance(parts, dict) else parts:
            _check_space(name, part, depth + 1)
        return
    shape = space.get("shape", []) if kind == "Box" else []
    if kind not in ("Box", "Discrete", "MultiDiscrete", "MultiBinary") or not isinstance(
        shape, list
    ):
        raise DatasetError(
            f"the {name} is of the type {kind}", allowed="vectors, and dicts of vectors"
        )
    if len(shape) > 1:
        raise refuse_image(name, shape)
    if not all(isinstance(n, int) and 0 < n <= SPACE_LIMIT for n in shape):
        raise DatasetError(
            f"the {name} has the shape {shape}", allowed=f"1 to {SPACE_LIMIT:,} numbers"
        )
    if kind == "Box" and np.dtype(str(space.get("dtype"))).kind not in "fiub":
        raise DatasetError(f"the {name} has the type {space.get('dtype')}", allowed="numbers")


def _check_files(folder: Path, form: str, episodes: list[int]) -> int | None:
    """Look at all the library will read; how many bytes that is, where it is too much for memory."""
    budget = Budget(folder, counting=False)
    if form == "hdf5":
        with hdf5.opened(folder / "main_data.hdf5", "Minari HDF5") as file:
            hdf5.audit(file, budget)
        return budget.excess()
    from rlassay.formats import tables

    validate = tables.validate_arrow if form == "arrow" else tables.validate_parquet
    for episode in episodes:
        files = [
            f
            for f in sorted((folder / str(episode)).glob(f"*.{form}"))
            if not f.name.startswith((".", "_"))
        ]
        rows = [n for file in files for n in validate(plain_file(file), budget)]
        if len(rows) != 1 or rows[0] > BATCH_ROWS:
            raise DatasetError(
                f"episode {episode} of {folder} is stored in {len(rows)} batches of {rows[:5]} rows",
                allowed=f"one batch of at most {BATCH_ROWS:,} rows, all that minari reads",
                remedy="write the dataset again with data_format='hdf5'",
            )
    return budget.excess()


def _columns(
    storage: Any,
    episodes: list[int],
    metadata: dict[str, Any],
    options: ReadOptions,
    large: int | None,
) -> tuple[dict[str, Any], list[Note]]:
    found, lengths, infos = Gathered(to_disk=large), [], set()
    for raw in storage.get_episodes(episodes) if episodes else ():
        episode = _episode(raw)
        lengths.append(len(episode["rewards"]))
        if lengths[-1]:
            infos = infos or {f"infos/{key}" for key in episode["infos"]}
            for name, part in _parts(episode):
                found.add(name, part)
    if len(lengths) != len(episodes):
        raise DatasetError(
            "episodes are missing", allowed=f"{len(episodes):,}", got=f"{len(lengths):,}"
        )
    counts = np.array([length for length in lengths if length], np.int64)
    if len(counts) == 0:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    ends = np.cumsum(counts)
    starts = ends - counts
    seen = _below(found, OBSERVED)
    first = starts + np.arange(len(counts))  # an episode has one observation more than steps
    observations, notes = join_vectors(
        {key: spans_of(part, first, counts) for key, part in seen.items()}, options
    )
    following, _ = join_vectors(
        {key: spans_of(part, first + 1, counts) for key, part in seen.items()}, options
    )
    actions, more = join_vectors(_below(found, TAKEN), options, "actions")
    columns = {
        "observations": observations,
        "actions": actions,
        "rewards": found.column("rewards"),
        "next_observations": following,
        "next_valid": _known_successors(metadata, episodes, lengths, ends),
        "terminals": found.column("terminations"),
        "timeouts": found.column("truncations"),
        "episode_starts": starts,
    }
    empty = [number for number, count in zip(episodes, lengths, strict=True) if not count]
    return columns, [*notes, *more, *empty_note(empty), *left_out(infos, options)]


def _parts(episode: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an episode under the names by which they are gathered."""
    for name in ("rewards", "terminations", "truncations"):
        yield name, episode[name]
    for prefix, group in ((OBSERVED, "observations"), (TAKEN, "actions")):
        yield from ((prefix + key, part) for key, part in episode[group].items())


def _below(found: Gathered, prefix: str) -> dict[str, Matrix]:
    names = [name for name in found.names() if name.startswith(prefix)]
    return {name.removeprefix(prefix): found.column(name) for name in names}


def _episode(raw: Mapping[str, Any]) -> dict[str, Any]:
    """One episode with its observations and actions as dicts of arrays, lengths checked."""
    rewards = checks.as_array("rewards", raw["rewards"]).reshape(-1)
    episode = {
        "rewards": rewards,
        "infos": list(raw.get("infos") or ()),
        "observations": dict(_leaves("", raw["observations"])),
        "actions": dict(_leaves("", raw["actions"])),
        "terminations": np.asarray(raw["terminations"]).reshape(-1),
        "truncations": np.asarray(raw["truncations"]).reshape(-1),
    }
    lengths = {len(part) for part in episode["actions"].values()}
    lengths |= {len(episode["terminations"]), len(episode["truncations"])}
    states = {len(part) for part in episode["observations"].values()}
    if lengths != {len(rewards)} or states != {len(rewards) + 1}:
        raise checks.ShapeError(
            f"episode {raw['id']} has {sorted(states)} observations and {sorted(lengths | {len(rewards)})} steps",
            allowed="one observation more than steps",
        )
    return episode


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """A nested dict or tuple as flat keys; the library has already checked it against the space."""
    if isinstance(value, Mapping):
        items = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, tuple):
        items = [(f"{index:03d}", part) for index, part in enumerate(value)]
    else:
        yield prefix, np.asarray(value)
        return
    for key, part in items:
        yield from _leaves(f"{prefix}.{key}" if prefix else key, part)


def _known_successors(
    metadata: dict[str, Any], episodes: list[int], lengths: list[int], ends: np.ndarray
) -> np.ndarray | None:
    """Our writer names the episodes whose final observation was unknown and had to be repeated."""
    unknown = own_record(metadata, "final_unknown", list)
    if not unknown:
        return None
    filled = [number for number, count in zip(episodes, lengths, strict=True) if count]
    known = np.ones(int(ends[-1]), bool)
    known[ends[np.isin(filled, [n for n in unknown if isinstance(n, int)])] - 1] = False
    return known


def own_record(metadata: dict[str, Any], key: str, kind: type[T]) -> T:
    """An entry that our writer left in the metadata; an empty one when there is none."""
    own = metadata.get(OWN_KEY)
    value = own.get(key) if isinstance(own, dict) else None
    return value if isinstance(value, kind) else kind()


def _environment(metadata: dict[str, Any]) -> str | None:
    spec = metadata.get("env_spec")
    name = parsed_object(spec).get("id") if isinstance(spec, str) else None
    return name if isinstance(name, str) else own_record(metadata, "env_id", str) or None


def _bounds(space: Any) -> tuple[Any, Any] | None:
    """The bounds of a plain action space; a dict of actions has none that we state."""
    if type(space).__name__ == "Box":
        return space.low, space.high
    if type(space).__name__ == "Discrete":
        return [space.start], [space.start + space.n - 1]
    if type(space).__name__ == "MultiDiscrete":
        return space.start, space.start + space.nvec - 1
    return None
