"""Apply the rules of repair to a dataset, and remember in it what they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from rlassay import __version__
from rlassay.data.dataset import Dataset, Note
from rlassay.errors import SettingsError
from rlassay.inspection import Inspection, inspect
from rlassay.inspection.structure import HANDLED_NOTES, step_limit, unresolved_notes
from rlassay.repair.rules import RULES, ActionsMode, How
from rlassay.words import suggest

SCHEMA = "rlassay.repair/1"
BY_LIMIT = {"timeouts_missing", "dones_as_terminals"}  # settled where the step limit is known


@dataclass(frozen=True)
class Applied:
    """One rule and what it changed."""

    name: str
    rows: int
    episodes: int
    message: str


@dataclass(frozen=True)
class Repair:
    """The repaired data with the rules that made it, and the inspections before and after."""

    data: Dataset
    rules: tuple[Applied, ...]
    before: Inspection
    after: Inspection

    def to_dict(self, out: str | None = None) -> dict[str, Any]:
        """The JSON of `rlassay.repair/1`."""
        return {
            "schema": SCHEMA,
            "source": self.before.dataset["source"],
            "out": out,
            "provenance": self.data.origin.metadata["repair"],
            "rules": [dict(rule.__dict__) for rule in self.rules],
            "before": _told(self.before),
            "after": _told(self.after),
        }


def _told(inspection: Inspection) -> dict[str, Any]:
    known = inspection.dataset
    return {
        "status": inspection.status,
        "findings": {c.name: c.status for c in inspection.checks if c.status != "pass"},
        "transitions": known["transitions"],
        "episodes": known["episodes"],
    }


def repair(
    data: Any,
    *,
    only: Sequence[str] | None = None,
    actions: str = "clip",
    cut_by_reader: int = 0,
) -> Repair:
    """Apply every rule that the data needs, or those of `only`; `data` is anything that `rlassay.load` takes.

    `actions` clips or rescales what lies outside its bounds. `Repair.data` is the repaired Dataset.
    """
    from rlassay.formats import load

    names = chosen(only)
    if actions not in get_args(ActionsMode):
        raise SettingsError(
            "unknown way to repair actions", allowed=get_args(ActionsMode), got=actions
        )
    source = load(data)
    how = How(actions, cut_by_reader)
    current, done = source, []
    with np.errstate(invalid="ignore", over="ignore"):
        for name in names:
            change = RULES[name](current, how)
            current = change.data
            done.append(Applied(name, change.rows, change.episodes, change.message))
    repaired = _remembering(current, source, done)
    return Repair(repaired, tuple(done), inspect(source), inspect(repaired))


def chosen(only: Sequence[str] | None) -> list[str]:
    """The rules to apply, in their own order; an unknown name is refused."""
    for name in only or ():
        if name not in RULES:
            raise SettingsError(
                f"unknown rule of repair{suggest(name, RULES)}", allowed=list(RULES), got=name
            )
    return [name for name in RULES if not only or name in only]


def _remembering(data: Dataset, source: Dataset, rules: list[Applied]) -> Dataset:
    """The data with its provenance; notes of the reader go, apart from those that stay true of the copy."""
    record = {
        "source": source.origin.source,
        "fingerprint": source.fingerprint,
        "rlassay": __version__,
        "rules": [dict(rule.__dict__) for rule in rules if rule.rows],
        "unresolved": [
            {"code": note.code, "message": note.message, "remedy": note.remedy}
            for note in _unresolved(source)
        ],
    }
    metadata = {**source.origin.metadata, "repair": record}
    origin = replace(data.origin, notes=(), metadata=metadata)
    return Dataset(data._columns, data.episode_starts, origin)


def _unresolved(source: Dataset) -> list[Note]:
    settled = HANDLED_NOTES | (BY_LIMIT if step_limit(source) else set())
    notes = [*source.origin.notes, *unresolved_notes(source)]
    return [note for note in notes if note.remedy and note.code not in settled]
