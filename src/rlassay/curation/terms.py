"""The grammar of `--by`: a score, or a weighted sum of several."""

from __future__ import annotations

import re

from rlassay.errors import SettingsError

_NUMBER = r"\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_TERM = re.compile(rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*)?({_NAME})\s*")


def parse_terms(by: str) -> list[tuple[float, str]]:
    """`"0.5*bwd + 0.5*return"` as [(0.5, "bwd"), (0.5, "return")]; a bare name has weight 1."""
    terms, position = [], 0
    while position < len(by):
        match = _TERM.match(by, position)
        if match is None or (terms and not match.group(1)):
            raise _unreadable(by)
        sign, number, name = match.groups()
        terms.append(((-1.0 if sign == "-" else 1.0) * float(number or 1.0), name))
        position = match.end()
    if not terms or all(weight == 0 for weight, _ in terms):
        raise _unreadable(by)
    return terms


def _unreadable(by: str) -> SettingsError:
    return SettingsError(
        "--by cannot be read", allowed="a score, or a sum such as 0.5*bwd+0.5*return", got=repr(by)
    )
