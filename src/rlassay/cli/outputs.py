"""One rule for every file a command writes: its folder must be there, a result is replaced, and `wrote F` is said.

Pages, JSON and CSV are results and are replaced; a dataset is data, so commands that write one ask for `--force`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TypeVar

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


def say_written(target: str | Path) -> None:
    """`wrote F` on stderr, so that stdout stays the result's."""
    typer.echo(f"wrote {target}", err=True)
