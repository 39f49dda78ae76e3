"""Damaged files in commands that stream: what is read in blocks is refused or written as it is when read at once.

For `fuzz_formats.py`. A command that meets the damage in the middle of its writing leaves neither target nor part.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.curation.command import curate_file
from rlassay.curation.request import Request
from rlassay.curation.rule import Rule
from rlassay.data import blocks
from rlassay.data.dataset import COLUMNS
from rlassay.errors import RlassayError
from rlassay.formats import convert, load
from rlassay.repair.command import repair_file

TARGETS = ("out.npz", "out.hdf5", "out-v0")
BLOCK_BYTES = 48  # a few rows of the small files
MOST, LEAST = 2**15, 64  # bytes between which the memory is looked for that does not hold a file
NOT_IN_BLOCKS = "--memory"  # named where data cannot be read in less


def memory_of(path: Path) -> int | None:
    """The most that may be held so that this dataset stays on the disk; None where its format is read at once."""
    memory = MOST
    while memory > LEAST:
        try:
            if isinstance(load(path, memory=memory).observations, blocks.BlockColumn):
                return memory
        except RlassayError:
            return None
        memory = memory * 9 // 10
    return None


def compared(path: Path, seed: int, memory: int, folder: Path, **options: Any) -> str:
    """One command on a damaged file, streamed and not: both refuse it, or both write the same."""
    verb, target = VERBS[seed % len(VERBS)], TARGETS[seed // len(VERBS) % len(TARGETS)]
    kept = blocks.BLOCK_BYTES
    blocks.BLOCK_BYTES = BLOCK_BYTES
    try:
        streamed = _outcome(verb, path, folder / "streamed" / target, memory=memory, **options)
    finally:
        blocks.BLOCK_BYTES = kept
    whole = _outcome(verb, path, folder / "whole" / target, **options)
    if isinstance(streamed, str) and NOT_IN_BLOCKS in streamed:
        return "streamed, refused for memory"
    bad = [each for each in (streamed, whole) if isinstance(each, str) and each.startswith("BAD")]
    if bad:
        return f"BAD streamed {verb.__name__}: {bad[0]}"
    if isinstance(streamed, str) != isinstance(whole, str):
        return f"BAD streamed {verb.__name__}: {streamed if isinstance(streamed, str) else whole}"
    if isinstance(streamed, str):
        return "streamed, refused"
    same = all(_equal(streamed[name], whole[name]) for name in (*COLUMNS, "episode_starts"))
    return "streamed, equal" if same else f"BAD streamed {verb.__name__}: other numbers"


def _outcome(verb: Any, path: Path, target: Path, **options: Any) -> str | dict[str, Any]:
    """The columns that were written, or why nothing was."""
    target.parent.mkdir(parents=True)
    try:
        verb(path, target, **options)
        data = load(target)
        return {name: getattr(data, name) for name in (*COLUMNS, "episode_starts")}
    except RlassayError as error:
        left = [each.name for each in target.parent.iterdir()]
        if left:
            return f"BAD leaves {left[0]}"
        return str(error) if "\n" not in str(error) else "BAD message"
    except BaseException as error:
        return f"BAD {type(error).__name__}: {error}"[:200]
    finally:
        shutil.rmtree(target.parent, ignore_errors=True)


def _equal(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


def _convert(path: Path, target: Path, **options: Any) -> None:
    convert(path, target, **options)


def _curate(path: Path, target: Path, **options: Any) -> None:
    curate_file(Request(str(path), Rule(keep=0.5, by="return"), out=target, read=options))


def _repair(path: Path, target: Path, **options: Any) -> None:
    repair_file(str(path), target, reading=options)


VERBS = (_convert, _curate, _repair)
