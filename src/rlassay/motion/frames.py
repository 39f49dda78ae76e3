"""Scores of single frames: where in an episode its score comes from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlassay.motion.agreement import disagreement_of_rows
from rlassay.motion.pauses import idle_rows, saturated_rows, stalled_rows
from rlassay.motion.trajectories import Motion

# The mean over an episode's frames is the episode's score of that name.
FRAME_SCORES: dict[str, Callable[[Motion], tuple[np.ndarray, np.ndarray]]] = {
    "disagreement": disagreement_of_rows,
    "idle": idle_rows,
    "stalled": stalled_rows,
    "saturation": saturated_rows,
}


def frame_scores(motion: Motion) -> dict[str, np.ndarray]:
    """Every score of `FRAME_SCORES` for every row, NaN where it is not asked."""
    columns = {}
    for name, function in FRAME_SCORES.items():
        rows, values = function(motion)
        columns[name] = np.full(len(motion.states), np.nan)
        columns[name][rows] = values
    return columns
