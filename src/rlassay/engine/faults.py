"""Faults on purpose, for tests of the promise that nothing is lost: `$RLASSAY_FAULT`, read only when it is set.

`kill@3` ends the process (SIGKILL) at its third write event; `term` and `int` send those signals, `enospc` makes the
disk full from that event on. `kill@1:renamed state.npz` counts only events whose text contains what follows the colon.
`trace@FILE` appends every event to a file. Events are `opened NAME`, `written NAME` and `renamed NAME`.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from pathlib import Path

from rlassay.errors import SettingsError

VARIABLE = "RLASSAY_FAULT"
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
_counted = 0
_counting = threading.Lock()


def reached(event: str, path: Path) -> None:
    """One step of writing `path` is reached; here the fault happens, if one is asked for."""
    plan = os.environ.get(VARIABLE)
    if plan:
        _carry_out(plan, f"{event} {path.name}")


def _carry_out(plan: str, event: str) -> None:
    kind, _, rest = plan.partition("@")
    if kind == "trace":
        _note(Path(rest), event)
        return
    number, _, text = rest.partition(":")
    if kind not in (*SIGNALS, "enospc") or not number.isdigit():
        raise SettingsError(
            f"${VARIABLE} cannot be read",
            allowed="kill@N, term@N, int@N, enospc@N or trace@FILE",
            got=plan,
        )
    if text in event:
        _strike(kind, int(number), event)


def _strike(kind: str, number: int, event: str) -> None:
    if kind == "enospc":  # a disk is full while something is written, and stays full
        if not event.startswith("renamed") and _count() >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    elif _count() == number:
        os.kill(os.getpid(), SIGNALS[kind])
        time.sleep(60)  # the handler ends the process from another thread


def _count() -> int:
    global _counted
    with _counting:
        _counted += 1
        return _counted


def _note(path: Path, event: str) -> None:
    with open(path, "a") as file:
        file.write(f"{os.getpid()} {event}\n")
