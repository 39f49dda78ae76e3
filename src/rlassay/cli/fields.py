"""Options of a command made from the fields of settings: each is spelled once, beside the field that it sets."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from rlassay.cli.completing import OFFERED
from rlassay.curation.options import options_of


def takes_fields(**settings: type) -> Callable[[Callable[..., None]], Any]:
    """Give a command the options of these dataclasses; it gets the chosen values of each as one dict by that name."""

    def decorated(command: Callable[..., None]) -> Any:
        @functools.wraps(command)
        def with_fields(**given: Any) -> None:
            chosen = {name: _chosen(kind, given) for name, kind in settings.items()}
            command(**chosen, **given)

        hints = get_type_hints(command, include_extras=True)
        own = [
            one.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, one in inspect.signature(command).parameters.items()
            if name not in settings
        ]
        made = [one for kind in settings.values() for one in _parameters(kind)]
        together = [*own[:1], *made, *own[1:]]
        with_fields.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
        with_fields.__annotations__ = {one.name: one.annotation for one in together}
        return with_fields

    return decorated


def _chosen(settings: type, given: dict[str, Any]) -> dict[str, Any]:
    """The values of one dataclass's options, read into what its fields hold."""
    chosen = {}
    for name, option in options_of(settings).items():
        value = given.pop(name)
        chosen[name] = option.read(value) if option.read and value is not None else value
    return chosen


def _parameters(settings: type) -> list[inspect.Parameter]:
    hints = get_type_hints(settings)
    defaults = {field.name: field.default for field in fields(settings)}
    parameters = []
    for name, option in options_of(settings).items():
        flags = option.flags or (f"--{name.replace('_', '-')}",)
        shown = typer.Option(
            *flags, metavar=option.metavar, help=option.help, autocompletion=OFFERED.get(name)
        )
        kind = Annotated[option.typed or hints[name], shown]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, keyword, default=defaults[name], annotation=kind))
    return parameters
