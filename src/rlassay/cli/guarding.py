"""The last line before a traceback: whatever the machine refuses is one sentence, like any other mistake."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Any

from typer.core import TyperGroup

from rlassay.errors import DatasetError, RlassayError, SettingsError

READER_GONE = 141  # exit code, as the shell has it for SIGPIPE


class GuardedCommands(TyperGroup):
    """The group of all commands; what escapes from one of them becomes a sentence where a user can act on it.

    Here and not in `main`, because typer ends with code 1 (which means FAIL) on some of these by itself.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (
            MemoryError,
            RecursionError,
            EOFError,
            OSError,
            UnicodeError,
            RuntimeError,
        ) as error:
            found = sentence_of(error)
            if found is None:
                raise
            raise found from error


def sentence_of(error: BaseException) -> RlassayError | None:
    """The machine's refusal as an error of ours; None for a bug, which keeps its traceback."""
    if isinstance(error, BrokenPipeError):
        return ReaderGone("the reader of the output has gone")
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return DatasetError(
            "there is not enough memory",
            remedy="end other programs, or use a part of the data (rlassay curate --keep)",
        )
    if isinstance(error, RecursionError):
        return DatasetError(
            "a file is nested too deeply", remedy="it is not one that rlassay wrote"
        )
    if isinstance(error, EOFError):
        return DatasetError("a file ends too early", remedy="copy or write it again")
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, UnicodeError):
        return DatasetError(
            f"a text or file name is not valid Unicode ({error.reason if isinstance(error, UnicodeEncodeError | UnicodeDecodeError) else error})",
            remedy="rename it",
        )
    if "home directory" in str(error):  # what pathlib says of ~nosuchuser
        return SettingsError("a path begins with an unknown user's ~", remedy="write it in full")
    return None


class ReaderGone(RlassayError):
    """Nobody reads what is printed any more, as with `| head`; not worth a word."""

    exit_code = READER_GONE


def _of_system(error: OSError) -> RlassayError:
    names = [
        os.fsdecode(name)
        for name in (error.filename, error.filename2)
        if isinstance(name, str | bytes)
    ]
    where = f"{' and '.join(names)}: " if names else ""
    return DatasetError(
        f"{where}{error.strerror or error}",
        remedy="check the path, its permissions and the space on the disk",
    )


def flush_output() -> None:
    """Print what is buffered now: at the interpreter's end a failure would be a traceback."""
    if sys.stdout is not None:
        sys.stdout.flush()


def forget_output() -> None:
    """Send the rest of stdout nowhere, so that the interpreter's end cannot fail on it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_output_safe() -> None:
    """Names that are no Unicode are printed with escapes instead of ending the command."""
    with contextlib.suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
