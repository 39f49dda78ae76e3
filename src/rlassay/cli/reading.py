"""Options of every command that reads data, declared once: a command takes them as one argument `read`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="File, dataset folder, Minari id, minari://ID or hf://OWNER/NAME."
    ),
]


@dataclass(frozen=True)
class Reading:
    """How files are read: what `rlassay.load` takes beside the source."""

    format: str | None = None
    env_id: str | None = None
    mask: str | None = None
    max_episode_steps: int | None = None
    observation_keys: list[str] | None = None
    map: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `rlassay.load` and its kin."""
        return dict(self.__dict__)


def reads_data(command: Callable[..., None] | None = None, *, mask: str = "--mask") -> Any:
    """Give `command` the reading options in the place of its argument `read`; `mask` names the flag of filter keys."""
    if command is None:
        return functools.partial(reads_data, mask=mask)
    flags = _flags(mask)

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        found = {name: given.pop(name) for name in flags}
        keys = found["observation_keys"]
        read = Reading(
            found["format"],
            found["env"],
            found["read_mask"],
            found["max_episode_steps"],
            [key.strip() for key in keys.split(",") if key.strip()] if keys else None,
            found["map"],
        )
        command(read=read, **given)

    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "read"
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in flags.items()
    ]
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    with_options.__signature__ = inspect.Signature([*keyword_only, *added])  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in [*keyword_only, *added]}
    return with_options


def _flags(mask: str) -> dict[str, Any]:
    """The options by parameter, in the order in which help shows them."""
    return {
        "format": Annotated[
            str | None,
            typer.Option(
                "--format",
                metavar="NAME",
                help="Read as this format, where two layouts look alike.",
            ),
        ],
        "env": Annotated[
            str | None,
            typer.Option("--env", metavar="ID", help="The environment, where the file names none."),
        ],
        "read_mask": Annotated[
            str | None,
            typer.Option(mask, metavar="KEY", help="robomimic: read this filter key's demos."),
        ],
        "max_episode_steps": Annotated[
            int | None,
            typer.Option(
                "--max-episode-steps",
                min=1,
                help="Step limit of the task, where timeouts are missing.",
            ),
        ],
        "observation_keys": Annotated[
            str | None,
            typer.Option(
                "--observation-keys",
                metavar="A,B",
                help="Vectors to join as the observation, in order.",
            ),
        ],
        "map": Annotated[
            str | None,
            typer.Option(
                "--map",
                metavar="ROLE=COLUMN,...",
                help="Which column is what (observations=x+y, actions=act, episode=id), or a TOML file of it.",
            ),
        ],
    }
