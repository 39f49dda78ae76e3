"""Can the structure of this data be trusted? Checks that pass, warn or fail, with the rows they concern.

Nothing here needs JAX or a simulator; a million transitions take about a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlassay.data.column_checks import ShapeError
from rlassay.data.dataset import Dataset
from rlassay.inspection import order, structure, values
from rlassay.inspection.results import SCHEMA, Check, Inspection, found

__all__ = ["CHECKS", "SCHEMA", "Check", "Inspection", "inspect", "inspect_source"]

CHECKS = (
    values.finite,
    values.rewards,
    values.action_bounds,
    values.action_saturation,
    values.dead_dimensions,
    structure.end_flags,
    structure.unfinished_episodes,
    structure.episode_lengths,
    structure.episode_returns,
    order.alignment,
    order.continuity,
    order.duplicate_episodes,
    structure.short_episodes,
    structure.size,
)


def inspect(data: Dataset) -> Inspection:
    """Ask every question of a Dataset; columns of different length end the inspection."""
    form = structure.shapes(data)
    if form.status == "fail":
        return Inspection((form,), summary(data))
    with np.errstate(invalid="ignore", over="ignore"):
        checks = tuple(check(data) for check in CHECKS)
    return Inspection((form, *checks, *structure.source_notes(data)), summary(data))


def inspect_source(source: Any, **load_options: Any) -> Inspection:
    """Load and inspect; columns that were read but do not fit together are a failed check, not an error."""
    from rlassay.formats import load

    try:
        data = load(source, **load_options)
    except ShapeError as error:
        check = found(
            "shapes",
            "fail",
            error.what,
            error.remedy or "every column needs one entry a transition",
        )
        return Inspection((check,), {"source": str(source)})
    return inspect(data)


def summary(data: Dataset) -> dict[str, Any]:
    """What the data is, in the words of a scorecard's `dataset`."""
    return {
        "source": data.origin.source,
        "format": data.origin.format,
        "transitions": len(data),
        "episodes": data.episode_count,
        "observation_dim": data.observation_dim,
        "action_dim": data.action_dim,
        "env_id": data.env_id,
    }
