"""Progress over many files: on a terminal a small table that changes, elsewhere a line now and then, always on stderr."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rlassay.progress import progress
from rlassay.words import printable

LATEST = 5  # finished files that are shown by name


@dataclass
class Tally:
    """How many files are done, made before, or failed, and the latest by name."""

    total: int
    made: int = 0
    before: int = 0
    failed: int = 0
    latest: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LATEST))
    since: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.made + self.before + self.failed

    def add(self, name: str, news: str, *, failed: bool, cached: bool) -> None:
        """One more file has ended."""
        self.failed += failed
        self.before += cached and not failed
        self.made += not cached and not failed
        self.latest.append((printable(name), printable(news)))

    @property
    def seconds_left(self) -> float | None:
        """By the pace of those that were computed; None before the first."""
        computed = self.made + self.failed
        if not computed:
            return None
        return (time.monotonic() - self.since) / computed * (self.total - self.done)

    def told(self) -> str:
        """The counts in words."""
        parts = [f"{self.made:,} made"]
        parts += [f"{self.before:,} from before"] if self.before else []
        parts += [f"{self.failed:,} failed"] if self.failed else []
        return ", ".join(parts)


@contextmanager
def live_tally(tally: Tally) -> Iterator[Any]:
    """Yield `show()`, to be called after every file."""
    if not sys.stderr.isatty():
        with progress("cards", tally.total) as advance:
            yield lambda: advance(tally.done, f"({tally.told()})")
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda: live.update(_table(tally))


def _table(tally: Tally) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 2))
    left = tally.seconds_left
    remaining = "" if left is None else f"about {left / 60:,.0f} min left"
    count = f"{tally.done:,} of {tally.total:,}"
    head.add_row(
        ProgressBar(tally.total, tally.done, width=24), count, tally.told(), Text(remaining)
    )
    rows = Table.grid(padding=(0, 2))
    for name, news in tally.latest:
        rows.add_row(Text(name), Text(news))
    return Group(head, rows)
