"""Result types of an inspection, their JSON (schema `rlassay.inspection/1`), and remedies as commands.

A check writes `command(rule)`, and the inspection fills in file, output and reading options: so every command that is
printed can be run as it stands, whatever options the file was read with.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.words import suggest

SCHEMA = "rlassay.inspection/1"
SEVERAL_SCHEMA = "rlassay.inspections/1"
ROW_LIMIT = 20  # rows that a check names; its message counts all of them
Status = Literal["pass", "warn", "fail"]
PLACE = "{repair}"  # stands for `rlassay repair SOURCE -o OUT OPTIONS` until the source is known
OWN_ENDINGS = (".hdf5", ".h5", ".npz")  # what `repair` writes under the source's own ending
_FLAGS = {"env_id": "--env"}  # options of `load` whose flag is named otherwise
_FILLED = re.compile(r"`(rlassay repair [^`]*) --only [^`\s]*`")
_VERSION = re.compile(r"(.*)(-v\d+)")


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


def command(*rules: str) -> str:
    """The command that applies these rules of `repair`, for the remedy of a check."""
    return f"`{PLACE} --only {','.join(rules)}`"


def filled(remedy: str, data: Dataset, reading: Mapping[str, Any]) -> str:
    """The remedy with its command in full; for data in memory the call that does the same."""
    if PLACE not in remedy:
        return remedy
    if data.origin.format == "arrays":
        return re.sub(rf"`{re.escape(PLACE)} --only (\S+)`", _call, remedy)
    source = Path(data.origin.source)
    words = ["rlassay", "repair", str(source), "-o", str(repaired_name(source)), *flags(reading)]
    return remedy.replace(PLACE, shlex.join(words))


def whole_command(remedies: Iterable[str]) -> str | None:
    """One command for all findings, where two or more of their remedies are rules of `repair`."""
    found = [match for remedy in remedies if (match := _FILLED.search(remedy))]
    return found[0].group(1) if len(found) > 1 else None


def _call(match: re.Match[str]) -> str:
    names = ", ".join(repr(name) for name in match.group(1).split(","))
    return f"rlassay.repair_dataset(data, only=[{names}])"


def repaired_name(source: Path) -> Path:
    """A free name beside the source that tells a format we write."""
    version = _VERSION.fullmatch(source.name) if source.is_dir() else None
    stem, ending = version.groups() if version else (source.stem, _ending(source))
    for number in range(1, 1_000):
        mark = "-repaired" if number == 1 else f"-repaired{number}"
        out = source.with_name(f"{stem}{mark}{ending}")
        if not out.exists():
            break
    return out


def _ending(source: Path) -> str:
    return source.suffix if source.suffix.lower() in OWN_ENDINGS else ".npz"


def flags(reading: Mapping[str, Any]) -> list[str]:
    """Options of `load` as one would type them."""
    words = []
    for name, value in reading.items():
        if value is not None:
            words += [_FLAGS.get(name, "--" + name.replace("_", "-")), _text(value)]
    return words


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(str(part) for part in value)
    return str(value)
