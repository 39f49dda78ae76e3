"""Words for people: what they may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(given: str, known: Iterable[str]) -> str:
    """`, did you mean return?` for a near miss, else nothing; for the end of an error's first part."""
    names = {str(name).lower(): str(name) for name in known}
    close = difflib.get_close_matches(given.lower(), names, n=1, cutoff=0.6)
    return f", did you mean {names[close[0]]}?" if close else ""
