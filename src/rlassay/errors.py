"""Errors a user can act on: what went wrong, what is allowed, what was found, and the remedy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from rlassay.words import printable


class RlassayError(Exception):
    """A mistake with a remedy. The command line prints it as one sentence and exits with `exit_code`."""

    exit_code = 2

    def __init__(
        self, what: str, *, allowed: object = None, got: object = None, remedy: str | None = None
    ):
        self.what, self.allowed, self.got, self.remedy = what, allowed, got, remedy
        super().__init__(printable(_sentence(what, allowed, got, remedy)))


class DatasetError(RlassayError):
    """A file or array that is not a usable dataset."""


class SettingsError(RlassayError):
    """An unknown name, or a value outside its range."""


class SolverError(RlassayError):
    """A computation that did not end in finite numbers."""


def _sentence(what: str, allowed: object, got: object, remedy: str | None) -> str:
    parts = [what]
    if allowed is not None:
        parts.append(f"allowed: {_listing(allowed)}")
    if got is not None:
        parts.append(f"got: {_listing(got)}")
    if remedy:
        parts.append(remedy)
    return "; ".join(parts)


def _listing(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset | dict):
        several = cast("Collection[Any]", value)
        ordered = sorted(several) if isinstance(value, set | frozenset) else several
        return ", ".join(str(item) for item in ordered)
    return str(value)
