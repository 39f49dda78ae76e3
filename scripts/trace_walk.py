"""The way of a number: which files of `src/rlassay` are entered during a command, in order of first entry.

    python scripts/trace_walk.py                                    # score of the first sample, with its page
    python scripts/trace_walk.py --room scoring score FILE --html OUT

Counts every file in which a function is called, in all threads. Importing a module is no call, nor is what its body
calls while it is imported. An entry into the room is a call of one of its functions while none of them is running.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

OPTIMIZED = inspect.CO_OPTIMIZED  # set on functions, not on the bodies of modules and classes
SOURCE = Path(__file__).parent.parent / "src" / "rlassay"
sys.path.insert(0, str(SOURCE.parent))


class Walk:
    """Files in order of first entry, calls of each, and entries into one room from outside."""

    def __init__(self, room: tuple[str, ...]):
        self.room = room
        self.calls: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()
        self._names: dict[CodeType, str | None] = {}
        self._inside = 0  # functions of the room that the main thread is running
        self._importing: Counter[int] = Counter()  # module bodies that a thread is running

    def name(self, code: CodeType) -> str | None:
        """The file inside the package, None elsewhere and for the body of a class."""
        if code not in self._names:
            path = Path(code.co_filename)
            inside = bool(code.co_flags & OPTIMIZED) and path.is_relative_to(SOURCE)
            self._names[code] = path.relative_to(SOURCE).as_posix() if inside else None
        return self._names[code]

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "return"):
            return
        code, thread = frame.f_code, threading.get_ident()
        step = 1 if event == "call" else -1
        if code.co_name == "<module>":
            self._importing[thread] += step
        elif not self._importing[thread] and (name := self.name(code)) is not None:
            self._note(name, code, step)

    def _note(self, name: str, code: CodeType, step: int) -> None:
        in_room = name.startswith(self.room)
        if step == 1:
            self.calls[name] += 1
            if in_room and self._inside == 0:
                self.entries[f"{name}:{code.co_qualname}"] += 1
        if in_room and threading.current_thread() is threading.main_thread():
            self._inside += step


def walk(arguments: list[str], room: tuple[str, ...]) -> Walk:
    """Run one command of rlassay under the tracer."""
    from rlassay.cli import app

    found = Walk(room)
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        app(arguments, prog_name="rlassay", standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def main() -> None:
    """Print the files, their calls, and the entries into the room."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--room", default="scoring", help="folders of the room, comma-separated")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command of rlassay")
    given = parser.parse_args()
    rooms = tuple(f"{name}/" for name in given.room.split(","))
    with tempfile.TemporaryDirectory() as folder:
        sample = str(min((SOURCE / "samples").glob("*.hdf5")))
        command = given.command or ["score", sample, "--html", f"{folder}/report.html"]
        found = walk(command, rooms)
    for place, (name, calls) in enumerate(found.calls.items(), 1):
        print(f"{place:3d}  {name:34s} {calls:8,d} calls")
    print(
        f"\n{len(found.calls)} files; {given.room} is entered {sum(found.entries.values())} times"
    )
    for entry, count in found.entries.items():
        print(f"  {count} x {entry}")


if __name__ == "__main__":
    main()
