"""What `rlassay curate` can be asked for beside the rule. The command line is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlassay.curation.options import option
from rlassay.curation.rule import Rule


@dataclass(frozen=True)
class Request:
    """One curation from file to file."""

    source: str
    rule: Rule
    out: Path | None = option(
        None,
        "The curated copy, or LIST.csv for the episode numbers.",
        metavar="OUT",
        flags=("-o", "--out"),
    )
    to: str | None = option(
        None, "Write as d4rl, npz, minari, minari-arrow or minari-parquet.", metavar="NAME"
    )
    mask: str | None = option(None, "robomimic: OUT is a copy with mask/KEY.", metavar="KEY")
    mask_in_place: bool = option(False, "robomimic: add the mask to PATH itself, after a backup.")
    force: bool = option(False, "Replace what exists.")
    dry_run: bool = option(False, "Show every score before and after, and write nothing.")
    scores: tuple[str, ...] | None = option(
        None,
        "Scores of a dry run; all by default.",
        metavar="A,B",
        typed=str | None,
        read=lambda names: tuple(name.strip() for name in names.split(",")),
    )
    weights: Path | None = option(None, "Write one weight a transition.", metavar="F.npz")
    weight_by: str = option("advantage", "return, advantage or value-gap.", metavar="KIND")
    temperature: float | None = option(
        None, "Of the weights; a low one follows the best rows alone."
    )
    sidecar: Path | None = option(
        None, "Write scores of every episode and frame beside the data, as Parquet.", metavar="DIR"
    )
    seed: int = 0
    read: Mapping[str, Any] = field(default_factory=dict)  # options of `load`
    scoring: Mapping[str, Any] = field(default_factory=dict)  # options of `episode_scores`
