"""Words for people: what they may have meant, and what may be shown on their terminal."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

LOOKED_AT = 10_000  # names of a folder

# What a terminal may obey instead of show: control characters, marks that turn the direction of writing, and halves of
# characters, which cannot be printed at all.
_OBEYED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object, *, lines: bool = False) -> str:
    """Text from a file as it may go to a terminal: what the terminal would obey is shown as its escape.

    With `lines` the text's own line ends and tabs stay.
    """

    def shown(found: re.Match[str]) -> str:
        kept = lines and found[0] in "\n\t"
        return found[0] if kept else found[0].encode("unicode_escape").decode()

    return _OBEYED.sub(shown, str(text))


def numbered(names: Sequence[str]) -> list[str]:
    """The same names; those that stand there several times carry their number."""
    total, met = Counter(names), Counter[str]()
    told: list[str] = []
    for name in names:
        met[name] += 1
        told.append(name if total[name] == 1 else f"{name} ({met[name]})")
    return told


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
