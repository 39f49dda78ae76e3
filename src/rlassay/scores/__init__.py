"""Scores: a registry of pure functions of arrays, each with direction, unit, needed columns and a revision."""

from rlassay.scores import counted, learned, valued
from rlassay.scores.registry import (
    COLUMNS,
    SCORES,
    Measured,
    ScoreSpec,
    evaluate,
    register_score,
    resolve,
    spec_of,
)

__all__ = [
    "COLUMNS",
    "SCORES",
    "Measured",
    "ScoreSpec",
    "counted",
    "evaluate",
    "learned",
    "register_score",
    "resolve",
    "spec_of",
    "valued",
]
