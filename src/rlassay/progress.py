"""Progress of long jobs on stderr: a bar on a terminal, one changing line in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rlassay.words import printable

Advance = Callable[[int, str], None]
LINE_EVERY = 30.0  # seconds between lines where stderr is a file
CHANGE_EVERY = 0.5  # seconds between changes of the line in a notebook


def notice(line: str) -> None:
    """One line for the user beside the result, on stderr."""
    print(f"rlassay: {printable(line)}", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Yield `advance(done, text)`: `done` counts from 0 to `total`, `text` is the latest news."""
    description = printable(description)
    if sys.stderr.isatty():
        with _bar(description, total) as advance:
            yield advance
    elif in_notebook():
        yield from _changing_line(description, total)
    else:
        yield _lines(description, total)


def in_notebook() -> bool:
    """Whether stderr is that of a Jupyter kernel, which is no terminal but shows what comes."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def _changing_line(description: str, total: int) -> Iterator[Advance]:
    """One line that is written over: rich's bar would ask for ipywidgets here."""
    last, width = 0.0, 0

    def advance(done: int, text: str = "") -> None:
        nonlocal last, width
        if time.monotonic() - last >= CHANGE_EVERY:
            last = time.monotonic()
            news = f"{description}: {done:,} of {total:,} {text}".rstrip()
            print(f"\r{news:<{width}}", end="", file=sys.stderr, flush=True)  # noqa: T201
            width = len(news)

    yield advance
    if width:
        print(f"\r{' ' * width}\r", end="", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def _bar(description: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[news]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(description, total=total, news="")
        yield lambda done, text="": bars.update(task, completed=done, news=printable(text))


def _lines(description: str, total: int) -> Advance:
    last = time.monotonic()

    def advance(done: int, text: str = "") -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            news = f"{description}: {done:,} of {total:,} {printable(text)}".rstrip()
            print(news, file=sys.stderr, flush=True)  # noqa: T201

    return advance
