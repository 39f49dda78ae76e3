"""Do the tests bite? Each mistake of the `scripts/mutation_list*.py` is made in a copy of the tree: its tests must fail.

    python scripts/mutations.py                  # all of them
    python scripts/mutations.py transport stats  # those whose file contains one of the words
    python scripts/mutations.py 3 40-45          # by their numbers

Prints `caught` or `SURVIVED` a mutation; ends with 1 when one survived.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mutation_list import MUTATIONS
from mutation_list_agents import MUTATIONS_AGENTS
from mutation_list_readers import MUTATIONS_READERS
from mutation_list_settled import MUTATIONS_SETTLED

ROOT = Path(__file__).parent.parent
ALL = dict(enumerate([*MUTATIONS, *MUTATIONS_AGENTS, *MUTATIONS_READERS, *MUTATIONS_SETTLED], 1))
COPIED = ("src", "tests", "scripts", "benchmarks", "results", "zoo", "pyproject.toml")


def copy_tree(folder: Path) -> None:
    """What the tests need; large folders that no test changes are linked."""
    for name in COPIED:
        source = ROOT / name
        if name in ("results", "zoo"):
            (folder / name).symlink_to(source)
        elif source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def is_caught(folder: Path, path: str, text: str, mistake: str, tests: str) -> bool:
    """Make the mistake, run the tests, undo it."""
    target = folder / "src" / "rlassay" / path
    original = target.read_text()
    if original.count(text) != 1:
        raise SystemExit(f"{path} holds {original.count(text)} times, not once: {text}")
    target.write_text(original.replace(text, mistake))
    try:
        return run_tests(folder, tests) == 1  # 1: tests failed; others: they could not run
    finally:
        target.write_text(original)


def run_tests(folder: Path, tests: str) -> int:
    """The exit code of pytest on these tests of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode


def chosen(words: list[str]) -> dict[int, tuple[str, str, str, str]]:
    """Mutations by number: those of a file that holds one of the words, those of a number or range, or all."""
    numbers: set[int] = set()
    for word in words:
        first, _, last = word.partition("-")
        if first.isdigit():
            numbers |= set(range(int(first), int(last or first) + 1))
        else:
            numbers |= {number for number, one in ALL.items() if word in one[0]}
    return {number: one for number, one in ALL.items() if not words or number in numbers}


def main(words: list[str]) -> int:
    """Run the chosen mutations one after the other."""
    made = chosen(words)
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        copy_tree(Path(name))
        for number, (path, text, mistake, tests) in made.items():
            caught = is_caught(Path(name), path, text, mistake, tests)
            survivors += not caught
            outcome = "caught  " if caught else "SURVIVED"
            print(f"{number:3d}  {outcome}  {path}: {text!r} -> {mistake!r}", flush=True)
    print(f"{len(made)} mutations, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
