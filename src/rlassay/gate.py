"""Conditions of `--fail-if`: `NAME OP VALUE`, read as text and compared, never evaluated as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlassay.errors import SettingsError
from rlassay.words import suggest

Fact = float | str | None  # None: the name is known, and its value is withheld

OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
OF_TEXT = ("==", "!=")
_FORM = re.compile(r"\s*([A-Za-z_][\w.@-]*)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Condition:
    """What must not be the case."""

    name: str
    operator: str
    value: float | str
    text: str


def parse_conditions(texts: Sequence[str]) -> list[Condition]:
    """Every condition, or the first one that is no condition as an error."""
    return [_parse(text) for text in texts]


def _parse(text: str) -> Condition:
    form = _FORM.fullmatch(text)
    if form is None:
        raise SettingsError(
            "a condition is not of the form NAME OP VALUE",
            allowed=f"OP one of {' '.join(OPERATORS)}",
            got=text,
            remedy="write for example --fail-if 'return < 1000'",
        )
    name, sign, value = form.groups()
    number = _number(value.strip("'\""))
    if isinstance(number, str) and sign not in OF_TEXT:
        raise SettingsError(f"{value} is not a number", allowed=f"numbers after {sign}", got=text)
    return Condition(name, sign, number, text)


def _number(text: str) -> float | str:
    try:
        return float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return text


def require_known(conditions: Sequence[Condition], names: Iterable[str]) -> None:
    """Refuse a condition on a name that no file can have, before anything is computed."""
    known = list(names)
    for condition in conditions:
        if condition.name not in known:
            raise SettingsError(
                f"unknown name in --fail-if{suggest(condition.name, known)}",
                allowed=sorted(known),
                got=condition.name,
            )


def broken(conditions: Sequence[Condition], facts: Mapping[str, Fact]) -> list[str]:
    """A sentence for every condition that holds, or that cannot be told because its value is withheld."""
    require_known(conditions, facts)
    found = []
    for condition in conditions:
        fact = facts[condition.name]
        if fact is None:
            found.append(f"{condition.text}: {condition.name} is not given for this data")
        elif _holds(condition, fact):
            found.append(f"{condition.text}: {condition.name} is {_shown(fact)}")
    return found


def _holds(condition: Condition, fact: float | str) -> bool:
    if isinstance(fact, str) != isinstance(condition.value, str):
        kind = "a word" if isinstance(fact, str) else "a number"
        raise SettingsError(f"{condition.name} is {kind}", allowed=kind, got=condition.text)
    compare: Any = OPERATORS[condition.operator]
    return bool(compare(fact, condition.value))


def _shown(fact: float | str) -> str:
    return fact if isinstance(fact, str) else f"{fact:g}"
