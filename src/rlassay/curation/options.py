"""How a field of a settings dataclass appears on the command line, told beside the field itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

KEY = "option"  # of a field's metadata


@dataclass(frozen=True)
class Option:
    """One option: its help, and what differs from the field it sets."""

    help: str
    metavar: str | None = None
    flags: tuple[str, ...] = ()  # none: the field's name with dashes
    typed: Any = None  # what is typed, where it is not the field's own type
    read: Callable[[Any], Any] | None = None  # from what is typed to the field


def option(default: Any, help: str, **more: Any) -> Any:
    """A field that is an option as well."""
    return dataclasses.field(default=default, metadata={KEY: Option(help, **more)})


def options_of(settings: type) -> dict[str, Option]:
    """The options among the fields, by field."""
    fields = dataclasses.fields(settings)
    return {field.name: field.metadata[KEY] for field in fields if KEY in field.metadata}
