"""The way of a number: which files of `src/rlassay` are entered during a command, in order of first entry.

    python scripts/trace_walk.py                                    # score of the first sample, with its page
    python scripts/trace_walk.py --room scoring score FILE --html OUT

Counts every file in which a function is called (importing a module is no call), in all threads, and how often the
room is entered: calls of its functions from a function of the package that stands outside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).parent.parent / "src" / "rlassay"
sys.path.insert(0, str(SOURCE.parent))


class Walk:
    """Files in order of first entry, calls of each, and entries into one room from outside."""

    def __init__(self, room: tuple[str, ...]):
        self.room = room
        self.calls: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()
        self._names: dict[CodeType, str | None] = {}

    def name(self, code: CodeType) -> str | None:
        """The file inside the package, None elsewhere and for the body of a module or a class."""
        if code not in self._names:
            path = Path(code.co_filename)
            called = code.co_name != "<module>" and bool(code.co_flags & 0x2)  # CO_NEWLOCALS
            inside = called and path.is_relative_to(SOURCE)
            self._names[code] = path.relative_to(SOURCE).as_posix() if inside else None
        return self._names[code]

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or (name := self.name(frame.f_code)) is None:
            return
        self.calls[name] += 1
        if (name.startswith(self.room) and frame.f_lasti <= 0) or self._enters(frame, name):
            self._note_entry(frame, name)

    def _enters(self, frame: FrameType, name: str) -> bool:
        return name.startswith(self.room)

    def _note_entry(self, frame: FrameType, name: str) -> None:
        """An entry is a call whose nearest caller inside the package stands outside the room, itself not within it."""
        caller = frame.f_back
        inner = None
        while caller is not None:
            other = self.name(caller.f_code)
            if other is not None:
                if inner is None:
                    inner = other
                if other.startswith(self.room):
                    return
            caller = caller.f_back
        if inner is not None:
            self.entries[f"{inner} -> {name}:{frame.f_code.co_qualname}"] += 1


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
        sample = str(sorted((SOURCE / "samples").glob("*.hdf5"))[0])
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
