"""Words for people: what they may have meant."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

LOOKED_AT = 10_000  # names of a folder


def suggest(given: str, known: Iterable[str]) -> str:
    """`, did you mean return?` for a near miss, else nothing; for the end of an error's first part."""
    names = {str(name).lower(): str(name) for name in known}
    close = difflib.get_close_matches(given.lower(), names, n=1, cutoff=0.6)
    return f", did you mean {names[close[0]]}?" if close else ""


def suggest_path(path: Path) -> str:
    """The same for a path that does not exist: a similar name in its folder."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(LOOKED_AT), strict=False)]
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(path.name.lower(), {n.lower(): n for n in names}, n=1)
    found = next((name for name in names if close and name.lower() == close[0]), None)
    return f", did you mean {path.with_name(found)}?" if found else ""
