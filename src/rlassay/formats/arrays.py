"""Data that is already in memory: a mapping of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.formats.assemble import assemble, join_vectors
from rlassay.formats.npz import ORIGIN, match_columns
from rlassay.formats.options import ReadOptions

FORMAT = "arrays"


def read(source: Mapping[str, Any], options: ReadOptions) -> Dataset:
    """A dict of columns under the names of an `.npz`; observations may be a dict of vectors."""
    found = match_columns([str(name) for name in source], "the mapping")
    columns: dict[str, Any] = {column: source[name] for column, name in found.items()}
    notes = []
    for name in ("observations", "next_observations"):
        if isinstance(columns.get(name), Mapping):
            parts = {str(k): np.asarray(v) for k, v in columns[name].items()}
            columns[name], joined = join_vectors(parts, options)
            notes += joined if name == "observations" else []
    own = {name: source.get(name) for name in ORIGIN}
    metadata = own["metadata"] if isinstance(own["metadata"], Mapping) else {}
    return assemble(
        columns,
        options,
        source=FORMAT,
        format_name=FORMAT,
        env_id=str(own["env_id"]) if own["env_id"] is not None else None,
        bounds=(own["action_low"], own["action_high"]),
        notes=notes,
        metadata=metadata,
    )
