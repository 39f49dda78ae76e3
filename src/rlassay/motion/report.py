"""What a set of demonstrations is like: scores of every episode, the ones to watch, and findings about all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.data.cells import visited_cells
from rlassay.data.dataset import Dataset
from rlassay.motion import findings as tell
from rlassay.motion.enough import LearningCurve, learning_curve
from rlassay.motion.findings import Finding
from rlassay.motion.joints import Joints, ranges
from rlassay.motion.modes import Modes, find_modes
from rlassay.motion.scores import EPISODE_SCORES, OF_LABELS, described, episode_score, measure
from rlassay.motion.tracking import Tracking, track
from rlassay.motion.trajectories import Motion, motion_of
from rlassay.motion.watch import Watched, worth_watching
from rlassay.results.card import json_values
from rlassay.results.episodes import Direction, EpisodeTable

SCHEMA = "rlassay.demonstrations/1"
COVERAGE = "the episode's own share in the covered states"


@dataclass(frozen=True)
class MotionReport:
    """Everything that is said about demonstrations; `table` can rank episodes in `rlassay.curate`."""

    source: str
    table: EpisodeTable
    watch: tuple[Watched, ...]
    findings: tuple[Finding, ...]
    cautions: tuple[str, ...]
    joints: Mapping[str, Joints]
    tracking: Tracking
    modes: Modes | None
    curve: LearningCurve | None
    tasks: Mapping[str, Mapping[str, Any]]
    seconds: float

    def __repr__(self) -> str:
        looks = sum(finding.status == "look" for finding in self.findings)
        return (
            f"MotionReport({self.source!r}, {len(self.table):,} episodes, {len(self.watch)} to watch, "
            f"{looks} findings to look at)"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON of schema `rlassay.demonstrations/1`; an unknown number is null."""
        return json_values(
            {
                "schema": SCHEMA,
                "source": self.source,
                "episodes": {name: _known(column) for name, column in self.table.columns.items()},
                "scores": {name: _described(name) for name in self.table.scores},
                "watch": [watched.to_dict() for watched in self.watch],
                "findings": [finding.to_dict() for finding in self.findings],
                "cautions": list(self.cautions),
                "joints": {kind: joints.to_dict() for kind, joints in self.joints.items()},
                "tracking": self.tracking.to_dict(),
                "modes": None if self.modes is None else _grouped(self.modes),
                "learning_curve": None if self.curve is None else self.curve.to_dict(),
                "tasks": self.tasks,
                "seconds": self.seconds,
            }
        )


def _known(column: np.ndarray) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]


def _described(name: str) -> dict[str, str]:
    if name == "coverage":
        return {"title": "Coverage", "meaning": COVERAGE, "direction": "higher"}
    return described(name)


def _grouped(modes: Modes) -> dict[str, Any]:
    return {
        "count": modes.count,
        "labels": modes.labels,
        "silhouette": modes.silhouette,
        "by_chance": modes.by_chance,
    }


def demonstrations(data: Any, *, seed: int = 0) -> MotionReport:
    """Look at demonstrations without asking for rewards. `data` is anything that `rlassay.load` takes."""
    from rlassay.formats import load

    dataset = load(data, extras=True)
    return report_of(dataset, motion_of(dataset), seed)


def report_of(dataset: Dataset, motion: Motion, seed: int = 0) -> MotionReport:
    """The same for a motion that was taken from the dataset already."""
    began = time.perf_counter()
    columns = measure(motion)
    modes, curve = find_modes(motion, seed), learning_curve(motion, seed)
    joints = {kind: ranges(motion, kind) for kind in ("states", "actions")}
    return MotionReport(
        source=dataset.origin.source,
        table=_table(dataset, columns, seed),
        watch=worth_watching(motion, columns),
        findings=_findings(motion, columns, modes, curve, joints),
        cautions=(*motion.cautions, *_cautions(motion, columns)),
        joints=joints,
        tracking=track(motion),
        modes=modes,
        curve=curve,
        tasks=_tasks(motion, columns),
        seconds=time.perf_counter() - began,
    )


def _table(data: Dataset, columns: Mapping[str, np.ndarray], seed: int) -> EpisodeTable:
    """The scores that are known for some episode, and the coverage."""
    known = {name: column for name, column in columns.items() if np.isfinite(column).any()}
    known["coverage"] = visited_cells(data, seed).shares()
    directions: dict[str, Direction] = {
        name: "higher" if name == "coverage" else episode_score(name).direction for name in known
    }
    return EpisodeTable(data.episode_starts, data.episode_lengths, known, directions)


def _findings(
    motion: Motion,
    columns: Mapping[str, np.ndarray],
    modes: Modes | None,
    curve: LearningCurve | None,
    joints: Mapping[str, Joints],
) -> tuple[Finding, ...]:
    found = [tell.of_modes(modes, motion.count), tell.of_curve(curve, motion.count)]
    found.append(tell.of_tracking(motion))
    for each in joints.values():
        found += tell.of_joints(each, motion.count)
    found += tell.of_marks(motion)
    found += tell.of_labels(columns)
    found += tell.of_repetitions(columns)
    found += tell.of_length(motion, columns)
    return tuple(found)


def _cautions(motion: Motion, columns: Mapping[str, np.ndarray]) -> list[str]:
    told = []
    if motion.count < 5:
        told.append(f"{tell.counted(motion.count, 'episode')}: too few to call one of them unusual")
    if motion.low is None and not motion.discrete:
        told.append("the bounds of the actions are unknown; saturation counts the data's extremes")
    missing = [
        name
        for name in EPISODE_SCORES
        if name not in OF_LABELS and not np.isfinite(columns[name]).any()
    ]
    if missing:
        told.append(f"these scores cannot be computed here: {', '.join(missing)}")
    return told


def _tasks(motion: Motion, columns: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """For each task its episodes, and the median of every score that they have."""
    if motion.tasks is None:
        return {}
    split: dict[str, dict[str, Any]] = {}
    for task in np.unique(motion.tasks):
        mine = np.flatnonzero(motion.tasks == task)
        medians = {
            name: float(np.nanmedian(columns[name][mine]))
            for name in EPISODE_SCORES
            if np.isfinite(columns[name][mine]).any()
        }
        split[str(task)] = {
            "episodes": mine.tolist(),
            "frames": int(motion.lengths[mine].sum()),
            "scores": medians,
        }
    return split
