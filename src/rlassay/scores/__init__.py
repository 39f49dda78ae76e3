"""Scores: a registry of pure functions of arrays, each with direction, unit, needed columns and a revision."""

from rlassay.scores import counted, learned, valued
from rlassay.scores.registry import (
    COLUMNS,
    SCORES,
    SEEDED,
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
    "SEEDED",
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
