"""Result types of an inspection and their JSON (schema `rlassay.inspection/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from rlassay.words import suggest

SCHEMA = "rlassay.inspection/1"
SEVERAL_SCHEMA = "rlassay.inspections/1"
ROW_LIMIT = 20  # rows that a check names; its message counts all of them
Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One question asked of the data: the answer, the first rows it concerns, and what to do."""

    name: str
    status: Status
    message: str
    rows: tuple[int, ...] = ()
    remedy: str = ""


@dataclass(frozen=True)
class Inspection:
    """All checks of one dataset; its status is the worst of theirs."""

    checks: tuple[Check, ...]
    dataset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        found = {check.status for check in self.checks}
        return "fail" if "fail" in found else "warn" if "warn" in found else "pass"

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        names = [check.name for check in self.checks]
        raise KeyError(f"no check {name!r}{suggest(name, names)}; there are {', '.join(names)}")

    def to_dict(self) -> dict[str, Any]:
        """The inspection as JSON values."""
        checks = [{**asdict(check), "rows": list(check.rows)} for check in self.checks]
        return {
            "schema": SCHEMA,
            "status": self.status,
            "dataset": dict(self.dataset),
            "checks": checks,
        }


def passed(name: str, message: str) -> Check:
    return Check(name, "pass", message)


def found(name: str, status: Status, message: str, remedy: str, rows: Any = ()) -> Check:
    """A check that fired, with its first rows."""
    return Check(
        name, status, message, tuple(int(row) for row in np.asarray(rows)[:ROW_LIMIT]), remedy
    )
