"""How results show themselves: pages, figures, tables of a notebook.

A result names the drawing it wants, and the front door of the package says which function of the report room makes
it, so that nothing below that room knows of it and importing a result loads no drawing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

DRAWINGS: dict[str, tuple[str, str]] = {}  # name: (module, function), filled by `rlassay`


def draw(name: str, *arguments: Any) -> Any:
    """The drawing of this name, made by the room that has it."""
    module, function = DRAWINGS[name]
    return getattr(import_module(module), function)(*arguments)
