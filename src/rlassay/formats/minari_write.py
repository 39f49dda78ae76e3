"""Write a Minari dataset through the `minari` library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.blocks import blocks_of
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import DatasetError
from rlassay.formats.minari_format import DATASET_ID, OWN_KEY

_TEXTS = ("algorithm_name", "code_permalink", "description")
_PEOPLE = ("author", "author_email")
_NUMBERS = ("ref_min_score", "ref_max_score")
_OURS_TO_SET = ("dataset_id", "minari_version", "data_format")


def dataset_id(path: Path) -> str:
    """The id of a dataset at this path: relative to the user's Minari root where it lies below it."""
    root = Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")
    path, root = path.absolute(), root.absolute()
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    if not DATASET_ID.fullmatch(name):
        raise DatasetError(
            "the folder's name is not a Minari dataset id",
            allowed="name-vN, such as hopper-medium-v0",
            got=name,
        )
    return name


def write(data: Dataset, folder: Path, name: str, data_format: str) -> list[Note]:
    """Write into an empty folder; say what Minari cannot hold."""
    if data.rewards is None:
        raise DatasetError(
            "Minari needs rewards and the data has none",
            remedy="write .npz or .hdf5, which can do without",
        )
    import minari
    from minari.dataset.minari_storage import MinariStorage

    actions, inferred = _action_space(data)
    spec, env_id = _env_spec(data.env_id)
    storage = MinariStorage.new(
        folder / "data",
        observation_space=_box(data.observations),
        action_space=actions,
        env_spec=spec,
        data_format=data_format,
        jpeg_encoding=False,
    )
    native, rest = _split_metadata(data)
    last = data.episode_stops - 1
    own = {
        "metadata": rest,
        "env_id": env_id,
        "bounds_from_data": inferred,
        "final_unknown": np.flatnonzero(~data.next_valid[last]).tolist(),
    }
    own = {key: value for key, value in own.items() if value}
    ids = {"dataset_id": name, "minari_version": minari.__version__}
    storage.update_metadata({**ids, **native, **({OWN_KEY: own} if own else {})})
    storage.update_episodes(_episodes(data))
    return _losses(data)


def _box(columns: np.ndarray, low: Any = -np.inf, high: Any = np.inf) -> Any:
    from gymnasium.spaces import Box

    return Box(low, high, shape=columns.shape[1:], dtype=columns.dtype.type)


def _action_space(data: Dataset) -> tuple[Any, bool]:
    """The space, and whether its bounds are only the data's own range."""
    low, high = data.origin.action_low, data.origin.action_high
    if not data.discrete_actions:
        return _box(data.actions, *(() if low is None else (low, high))), False
    from gymnasium.spaces import Discrete, MultiDiscrete

    low, high, stated = data.action_bounds()
    low, count = low.astype(np.int64), high.astype(np.int64) - low.astype(np.int64) + 1
    if data.action_dim == 1:
        return Discrete(int(count[0]), start=int(low[0])), not stated
    return MultiDiscrete(count, start=low), not stated


def _env_spec(env_id: str | None) -> tuple[Any, str | None]:
    """Gymnasium's spec of the environment, made without the environment; or the name, for our own record."""
    if env_id is None:
        return None, None
    import gymnasium

    try:
        spec = gymnasium.spec(env_id)
        spec.to_json()
        return spec, None
    except (
        gymnasium.error.Error,
        ImportError,
        TypeError,
        ValueError,
    ):  # unknown here, or not writable
        return None, env_id


def _split_metadata(data: Dataset) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Minari has a field for, and the rest."""
    native: dict[str, Any] = {}
    rest = {key: value for key, value in data.origin.metadata.items() if key not in _OURS_TO_SET}
    for key in list(rest):
        value = rest[key]
        if (key in _TEXTS and isinstance(value, str)) or (
            key in _NUMBERS and isinstance(value, int | float)
        ):
            native[key] = rest.pop(key)
        elif (
            key in _PEOPLE
            and isinstance(value, list)
            and all(isinstance(name, str) for name in value)
        ):
            native[key] = set(rest.pop(key))
    return native, rest


def _episodes(data: Dataset) -> Iterator[Any]:
    from minari.data_collector import EpisodeBuffer

    for episode in data.episodes():
        actions = episode.actions
        yield EpisodeBuffer(
            observations=np.concatenate([episode.observations, episode.next_observations[-1:]]),  # type: ignore[arg-type]
            actions=actions[:, 0] if data.discrete_actions and data.action_dim == 1 else actions,  # type: ignore[arg-type]
            rewards=episode.rewards,  # type: ignore[arg-type]
            terminations=episode.terminals,  # type: ignore[arg-type]
            truncations=episode.timeouts,  # type: ignore[arg-type]
        )


def _broken_chains(data: Dataset) -> np.ndarray:
    """Rows inside episodes whose next observation is not the next row's."""
    found = []
    for first, own in blocks_of(data.next_observations):
        rows = first + np.flatnonzero(data.next_action_valid[first : first + len(own)])
        same = (own[rows - first] == data.observations[rows + 1]).all(axis=1)
        found.append(rows[~(same & data.next_valid[rows])])
    return np.concatenate(found)


def _losses(data: Dataset) -> list[Note]:
    notes = []
    odd = _broken_chains(data)
    if len(odd):
        text = f"Minari keeps one observation between two steps: {len(odd):,} next observations differ from the next row's observation and are lost"
        notes.append(Note("next_observations", text, rows=tuple(int(row) for row in odd[:20])))
    unknown = int((~data.next_valid[data.episode_stops - 1]).sum())
    if unknown:
        text = f"Minari needs a final observation: {unknown:,} episodes repeat their last one; only the key `{OWN_KEY}` of metadata.json marks them"
        notes.append(Note("unknown_successors", text))
    if data.origin.extras:
        text = f"Minari has no place for the arrays {', '.join(sorted(data.origin.extras))}"
        notes.append(Note("extras", text))
    return notes
