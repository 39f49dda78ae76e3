"""The order of rows: by episode and step where a source says both, and split where steps are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Note
from rlassay.errors import DatasetError

SHOWN = 20  # rows named in a note


@dataclass(frozen=True)
class Steps:
    """What a source says of a row's place: its episode, its number there, whether it is the first."""

    episode: np.ndarray | None
    step: np.ndarray | None
    first: np.ndarray | None


def order_of(
    steps: Steps, rows: int, source: object
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The order that brings episodes together, None when they are; and their first rows, None when unknown.

    Episodes stand in the order of their first row in the source.
    """
    if steps.episode is None:
        return None, None if steps.first is None else _first_rows(steps.first, rows)
    if len(steps.episode) != rows:
        raise checks.ShapeError(
            f"the episode ids of {source} differ in length from the observations"
        )
    appearance = np.unique(steps.episode, return_index=True)[1]
    rank = np.argsort(np.argsort(appearance))[np.unique(steps.episode, return_inverse=True)[1]]
    keys = [rank] if steps.step is None else [_step(steps.step, rows), rank]
    order = np.lexsort(keys)
    ordered = rank[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return (None if np.array_equal(order, np.arange(rows)) else order), starts


def _first_rows(first: np.ndarray, rows: int) -> np.ndarray:
    starts = np.flatnonzero(checks.flags("first", first, rows))
    if len(starts) == 0 or starts[0] != 0:
        raise DatasetError(
            "the first row begins no episode", remedy="its beginning is missing; drop its rows"
        )
    return starts


def _step(step: np.ndarray, rows: int) -> np.ndarray:
    step = checks.as_array("step", step)
    if step.ndim != 1 or len(step) != rows or (step.dtype.kind == "f" and np.isnan(step).any()):
        raise checks.ShapeError("the step numbers are no single whole column")
    return step


def split_at_gaps(step: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, list[Note]]:
    """Where a step is missing inside an episode another episode begins: nothing is chained across a hole."""
    jump = np.diff(step.astype(np.float64), prepend=step[:1])
    jump[starts] = 1
    twice, gaps = np.flatnonzero(jump < 0.5), np.flatnonzero(jump > 1.5)
    if len(twice):
        raise DatasetError(
            f"{len(twice):,} rows repeat a step of their episode, the first is row {twice[0]}",
            remedy="two recordings share one episode id, or rows are stored twice; drop or renumber them",
        )
    if len(gaps) == 0:
        return starts, []
    note = Note(
        "steps_missing",
        f"{len(gaps):,} episodes are broken by missing steps and were split there",
        "fetch or record the missing rows; returns of the parts are not returns of episodes",
        tuple(int(row) for row in gaps[:SHOWN]),
    )
    return np.union1d(starts, gaps), [note]
