"""Can the structure of this data be trusted? Checks that pass, warn or fail, with the rows they concern.

Nothing here needs JAX or a simulator; a million transitions take about a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.data.column_checks import ShapeError
from rlassay.data.dataset import Dataset
from rlassay.inspection import structure, values
from rlassay.inspection.environment import environment
from rlassay.inspection.results import SCHEMA, Check, Inspection, filled, found
from rlassay.inspection.rules import hold

__all__ = [
    "CHECKS",
    "SCHEMA",
    "Check",
    "Inspection",
    "inspect",
    "inspect_loaded",
    "inspect_source",
]

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
    values.alignment,
    values.continuity,
    values.duplicate_episodes,
    structure.short_episodes,
    structure.size,
)


def inspect(data: Dataset, reading: Mapping[str, Any] | None = None) -> Inspection:
    """Ask every question of a Dataset; columns of different length end the inspection.

    `reading` are the options it was loaded with, which it knows itself: a remedy that is a command repeats them.
    """
    reading = data.origin.reading if reading is None else reading
    form = structure.shapes(data)
    if form.status == "fail":
        return Inspection((form,), summary(data))
    with np.errstate(invalid="ignore", over="ignore"):
        checks = tuple(check(data) for check in CHECKS)
    all_checks = (form, *checks, *structure.source_notes(data))
    told = (replace(one, remedy=filled(one.remedy, data, reading)) for one in all_checks)
    return Inspection(tuple(told), summary(data))


def inspect_source(
    source: Any, *, rules: Mapping[str, Any] | None = None, **load_options: Any
) -> Inspection:
    """Load and inspect; columns that were read but do not fit together are a failed check, not an error.

    An environment named by `env_id` is asked too, where the simulator is installed; `rules` are those of
    `rlassay learn`.
    """
    return inspect_loaded(source, rules=rules, **load_options)[0]


def inspect_loaded(
    source: Any, *, rules: Mapping[str, Any] | None = None, **load_options: Any
) -> tuple[Inspection, Dataset | None]:
    """The inspection and the data it is of; None where the columns do not fit together."""
    from rlassay.formats import load

    try:
        data = load(source, **load_options)
    except ShapeError as error:
        check = found("shapes", "fail", error.what, error.remedy or structure.ONE_ENTRY)
        return Inspection((check,), {"source": str(source)}), None
    inspection = inspect(data)
    if inspection["shapes"].status == "fail":
        return inspection, data
    asked = [environment(data)] if load_options.get("env_id") else []
    more = [*asked, *(hold(rules, data) if rules else ())]
    return replace(inspection, checks=(*inspection.checks, *more)), data


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
