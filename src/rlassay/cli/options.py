"""Options that several commands share, among them those of reading data, and the ways a result is printed.

Pages, JSON and CSV are results and are replaced; a dataset is data, so commands that write one ask for `--force`.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

Target = TypeVar("Target", str, Path, None)


def in_existing_folder(target: Target) -> Target:
    """Callback of an option that names an output: refused before anything is computed; `-` is stdout."""
    if target is None or str(target) == "-":
        return target
    from rlassay.engine.targets import cannot_write
    from rlassay.errors import DatasetError

    folder = Path(target).parent
    try:
        there, taken = folder.is_dir(), Path(target).is_dir()
    except OSError as error:  # a name that cannot be
        raise cannot_write(Path(target), error) from None
    if not there:
        raise DatasetError(
            f"cannot write {target}: there is no folder {folder}",
            remedy=f"mkdir -p {shlex.quote(str(folder))}",
        )
    if taken:
        raise DatasetError(f"cannot write {target}: it is a folder", remedy="name a file in it")
    return target


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        callback=in_existing_folder,
        help="Write the result as JSON; `-` prints it to stdout and nothing else.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change any setting; may be given several times."
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="The first random seed.")]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Run store; default $RLASSAY_STORE, else the user's state folder.",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option("--engine", help="Where tasks run: local, or ray (needs the extra `ray`)."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Of a Ray cluster, or auto; without it Ray is started here for this command.",
    ),
]
PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="File, dataset folder, Minari id, minari://ID or hf://OWNER/NAME."
    ),
]


def say_written(target: str | Path) -> None:
    """`wrote F` on stderr, so that stdout stays the result's."""
    typer.echo(f"wrote {target}", err=True)


def say(text: str, *, err: bool = False) -> None:
    """Print text that may come from a file: nothing in it moves the terminal's cursor."""
    from rlassay.words import printable

    typer.echo(printable(text, lines=True), err=err)


def require_outputs(*targets: str | Path | None) -> None:
    """Refuse targets that cannot be written, before the work is done; `-` is stdout."""
    from rlassay.engine.files import require_writable

    for target in targets:
        if target is not None and str(target) != "-":
            require_writable(target)


def emit_json(value: dict[str, Any], target: str | None) -> bool:
    """Write JSON where `--json` says; True when stdout now belongs to it."""
    if target is None:
        return False
    if target == "-":
        sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")
        return True
    from rlassay.engine.files import write_json

    write_json(Path(target), value)
    say_written(target)
    return False


def use_store(folder: Path | None) -> None:
    """Let `--store` win over `$RLASSAY_STORE` for this process and its workers."""
    import os

    from rlassay.runtime import expanded

    if folder is not None:
        os.environ["RLASSAY_STORE"] = str(expanded(folder).resolve())


def this_command() -> str:
    """The command line that is running, as one would type it."""
    return shlex.join(["rlassay", *sys.argv[1:]])


@dataclass(frozen=True)
class Reading:
    """How files are read: what `rlassay.load` takes beside the source."""

    format: str | None = None
    env_id: str | None = None
    mask: str | None = None
    max_episode_steps: int | None = None
    observation_keys: list[str] | None = None
    map: str | None = None
    memory: int | None = None

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
            parse_bytes(found["memory"]),
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


def parse_bytes(text: str | None) -> int | None:
    """`2GB`, `500MB` or a plain number of bytes."""
    from rlassay.errors import SettingsError

    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMGT]?)i?B?", text.strip())
    size = 0 if found is None else int(float(found[1]) * 1000 ** " kMGT".index(found[2] or " "))
    if size < 1:
        raise SettingsError("--memory cannot be read", allowed="such as 2GB or 500MB", got=text)
    return size


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
        "memory": Annotated[
            str | None,
            typer.Option(
                "--memory",
                metavar="BYTES",
                help="What a process may hold, as 2GB; larger data is read in blocks. Default: 80 % of what is free.",
            ),
        ],
    }
