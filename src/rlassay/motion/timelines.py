"""Episodes over time, thin enough for a page: the columns that move most, and where the scores of frames come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.motion.frames import frame_scores
from rlassay.motion.trajectories import Motion, spread
from rlassay.results.packing import packed

COLUMNS = 4  # of states and of actions, those with the largest deviation
LINE = "disagreement"  # the score that is a line; the others are stretches
STRETCHES = ("idle", "stalled", "saturation")
WATCHED_MOMENTS = 150  # of an episode worth watching
MOMENTS = (30, 120)  # of any other
NUMBERS = 27_000  # of all others together; what does not fit is left out
SPANS = 40  # of an episode and kind, the longest


def timelines(motion: Motion, watched: Sequence[int]) -> dict[str, Any]:
    """The watched episodes, then as many others as fit, evenly chosen, in the order of the file.

    Values of states and actions are in units of the column's spread around its median; between two moments the largest
    disagreement counts. Lines are packed (`rlassay.results.packing`); an unknown disagreement is NaN.
    """
    shown = {kind: _liveliest(getattr(motion, kind)) for kind in ("states", "actions")}
    scaled = {kind: _scaled(getattr(motion, kind), columns) for kind, columns in shown.items()}
    scores = frame_scores(motion)
    lines = sum(map(len, shown.values())) + 1
    others, moments = _others(motion, watched, lines)
    chosen = [(episode, WATCHED_MOMENTS) for episode in watched]
    chosen += [(episode, moments) for episode in others]
    return {
        "columns": shown,
        "total": motion.count,
        "rate": motion.rate,
        "episodes": [_timeline(motion, scaled, scores, *each) for each in chosen],
    }


def _liveliest(columns: np.ndarray) -> list[int]:
    """The columns with the largest standard deviation, in their own order."""
    deviation = columns.std(axis=0)
    order = np.argsort(-deviation, kind="stable")[:COLUMNS]
    return sorted(int(column) for column in order if deviation[column] > 0)


def _scaled(columns: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
    some = columns[:, list(chosen)]
    return (some - np.median(some, axis=0)) / spread(some) if len(chosen) else some


def _others(motion: Motion, watched: Sequence[int], lines: int) -> tuple[list[int], int]:
    rest = np.setdiff1d(np.arange(motion.count), np.asarray(watched, int))
    if not len(rest):
        return [], MOMENTS[0]
    moments = int(np.clip(NUMBERS // (lines * len(rest)), *MOMENTS))
    number = min(len(rest), NUMBERS // (lines * moments))
    return rest[np.linspace(0, len(rest) - 1, number).round().astype(int)].tolist(), moments


def _timeline(
    motion: Motion,
    scaled: Mapping[str, np.ndarray],
    scores: Mapping[str, np.ndarray],
    episode: int,
    moments: int,
) -> dict[str, Any]:
    rows = slice(int(motion.starts[episode]), int(motion.stops[episode]))
    length = rows.stop - rows.start
    drawn = (
        STRETCHES if motion.low is not None else STRETCHES[:2]
    )  # else a gripper at rest is one band
    frames = np.unique(np.linspace(0, length - 1, min(length, moments)).round().astype(int))
    largest = np.fmax.reduceat(scores[LINE][rows], frames)
    return {
        "episode": int(episode),
        "length": length,
        "frames": packed(frames),
        **{
            kind: [packed(line) for line in values[rows][frames].T]
            for kind, values in scaled.items()
        },
        LINE: packed(largest),
        **{name: spans(scores[name][rows] > 0) if name in drawn else [] for name in STRETCHES},
    }


def spans(flags: np.ndarray) -> list[list[int]]:
    """First and last frame of every run of flags; of many the longest."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    runs = edges.reshape(-1, 2) - [0, 1]
    longest = np.argsort(-(runs[:, 1] - runs[:, 0]), kind="stable")[:SPANS]
    return runs[np.sort(longest)].tolist()
