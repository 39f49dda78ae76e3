"""Write docs/cli.md from the commands' own help texts; a test checks that the page is current."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
INTRODUCTION = """# Command line

Made by `python scripts/make_cli_docs.py` from the commands themselves.

Every command: `--json -` prints the result to stdout and nothing else there; progress and messages go to stderr; a
mistake is one sentence and exit code 2; exit code 3 means partial results; `--set key=value` reaches any setting, and
an unknown key is refused with the known ones.
"""


def help_text(*arguments: str) -> str:
    """What `rlassay ARGUMENTS --help` prints, 100 columns wide."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "rlassay", *arguments, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def commands(*group: str) -> list[tuple[str, ...]]:
    """All commands as words, in the order of the program; those of a group follow it."""
    lines = help_text(*group).partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].strip()]
    found = []
    for name in names:
        found += [(*group, name), *commands(*group, name)]
    return found


def page() -> str:
    sections = [INTRODUCTION]
    for words in commands():
        sections.append(f"## rlassay {' '.join(words)}\n\n```text\n{help_text(*words)}\n```\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page())
