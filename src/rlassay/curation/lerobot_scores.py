"""Scores in the layouts that the lerobot package reads: signals of frames, and columns of its episode metadata.

docs/demonstrations.md says which texts of that project this follows, and where it differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlassay.errors import DatasetError

if TYPE_CHECKING:
    import pyarrow as pa

SIGNALS, SIGNALS_VERSION = "lerobot.frame_signals", "1"
META = Path("meta") / "episodes"
PREFIX = "rlassay/"  # of our columns in the episode metadata


def signal_metadata(scores: Mapping[str, Mapping[str, str]], scored: Mapping[str, Any]) -> dict:
    """Metadata of a Parquet file of frames: what each column means, and by whom it was made."""
    described = {
        name: {
            "description": told["meaning"],
            "direction": told["direction"],
            "bounds": None,
            "unit": None,
            "allow_nan": True,
        }
        for name, told in sorted(scores.items())
    }
    return {
        "lerobot.scores.format": SIGNALS,
        "lerobot.scores.schema_version": SIGNALS_VERSION,
        "lerobot.scores.descriptors": json.dumps(described, sort_keys=True),
        "lerobot.scores.provenance": json.dumps({"scoring": dict(scored)}, sort_keys=True),
    }


def by_episode_index(
    columns: Mapping[str, np.ndarray], names: tuple[str, ...]
) -> dict[int, dict[str, Any]]:
    """The named columns of every episode under the dataset's own number, for a filter of its loader."""
    numbers = [int(number) for number in columns["episode_index"]]
    if len(set(numbers)) < len(numbers):
        raise DatasetError(
            "an episode of the source is marked done inside, so its number stands for several",
            remedy="read the columns `episode_index`, `first_frame` and `length` of the table instead",
        )
    return {
        number: {name: columns[name][row].item() for name in names}
        for row, number in enumerate(numbers)
    }


def write_episode_metadata(
    source: Path, folder: Path, rows: Mapping[int, Mapping[str, Any]]
) -> int:
    """A copy of the dataset's `meta/episodes` (v3) with our columns behind its own; the number of files written."""
    import pyarrow.parquet as pq

    files = sorted((source / META).glob("chunk-*/*.parquet"))
    for file in files:
        target = folder / META / file.relative_to(source / META)
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_with_scores(pq.read_table(file), rows), target)
    return len(files)


def _with_scores(table: pa.Table, rows: Mapping[int, Mapping[str, Any]]) -> pa.Table:
    """An episode that was not scored has null."""
    import pyarrow as pa

    asked = [int(number) for number in table["episode_index"].to_pylist()]
    for name in next(iter(rows.values()), {}):
        values = [rows.get(number, {}).get(name) for number in asked]
        table = table.append_column(PREFIX + name, pa.array(values, from_pandas=True))
    return table
