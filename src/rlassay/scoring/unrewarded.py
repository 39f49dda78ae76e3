"""What a card says of data without rewards: its movements, episodes over time, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from rlassay.data.dataset import Dataset
from rlassay.motion.opening import open_commands
from rlassay.motion.report import report_of
from rlassay.motion.timelines import timelines
from rlassay.motion.trajectories import motion_of
from rlassay.results.card import json_values
from rlassay.verdict.commands import free_name, reading_flags

SEVERAL = 10  # episodes from which leaving some out is worth a thought
KEPT = 0.9  # share of the episodes that the printed curation keeps


def demonstrated(data: Dataset, command: str, seed: int = 0) -> dict[str, Any]:
    """The block `demonstrations` of a card; empty where the data has rewards. `command` is the one that made the card."""
    if data.rewards is not None:
        return {}
    motion = motion_of(data)
    report = report_of(data, motion, seed)
    watched = [each.episode for each in report.watch]
    return {
        **report.to_dict(),
        "timelines": json_values(timelines(motion, watched)),
        "open": open_commands(data, report),
        "next": _next_steps(data, command),
    }


def _next_steps(data: Dataset, command: str) -> list[dict[str, str]]:
    """Commands that can be run as printed; none for data in memory, which no command can read."""
    if data.origin.format == "arrays":
        return []
    source, reading = Path(data.origin.source), reading_flags(command)
    steps = [("scores of every episode and frame, as Parquet", ["--sidecar", _beside(source)])]
    if data.episode_count >= SEVERAL:
        by = ["--by", "disagreement"] if data.discrete_actions else []  # cloning asks for numbers
        kept = ["--keep", f"{KEPT:g}", *by, "--dry-run"]
        steps.insert(0, ("which tenth of the episodes a curation would leave out", kept))
    return [
        {"why": why, "command": shlex.join(["rlassay", "curate", str(source), *words, *reading])}
        for why, words in steps
    ]


def _beside(source: Path) -> str:
    """A folder beside the source that nothing has yet."""
    return str(free_name(source, "scores", ".sidecar"))
