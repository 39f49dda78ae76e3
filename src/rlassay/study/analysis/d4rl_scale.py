"""Scores of the studies in points of D4RL's normalised score, the scale they share with the oracle."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rlassay.data.references import reference_for
from rlassay.scoring import SCORES, discounted
from rlassay.study.grid.files import Row, read_table
from rlassay.study.grid.plan import DEFAULT_DISCOUNT

AS_PRINTED = " as printed"  # behind the name of a score of preset `paper`
PAPER_SCORES = Path("long") / "paper_scores.csv"
Scores = dict[tuple[str, str], dict[str, float]]  # by environment and dataset, then by name


def scores_on_d4rl_scale(results: Path) -> Scores:
    """Means over scoring seeds at the default discount; those of Algorithm 1 as printed under names of their own."""
    rows = [
        row
        for study in ("table1", "confirm")
        if (results / study / "scores.csv").exists()
        for row in read_table(results / study / "scores.csv")
        if row["discount"] == DEFAULT_DISCOUNT
    ]
    if (results / PAPER_SCORES).exists():
        printed = read_table(results / PAPER_SCORES)
        rows += [{**row, "score_name": f"{row['score_name']}{AS_PRINTED}"} for row in printed]
    return {
        key: {
            name: points
            for name, value in cell.items()
            if (points := in_points(key[0], name, value)) is not None
        }
        for key, cell in mean_scores(rows).items()
    }


def mean_scores(rows: Iterable[Row]) -> Scores:
    """Means over scoring seeds; empty cells are left out."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["value"] is not None:
            cell = values.setdefault((row["environment"], row["dataset"]), {})
            cell.setdefault(row["score_name"], []).append(row["value"])
    return {key: {n: float(np.mean(v)) for n, v in cell.items()} for key, cell in values.items()}


def in_points(environment: str, name: str, value: float) -> float | None:
    """A score on D4RL's scale, 0 to 100; none where it has no place there."""
    reference, spec = reference_for(environment), SCORES.get(name.removesuffix(AS_PRINTED))
    if reference is None or spec is None or spec.relative is None:
        return None
    if spec.relative == "return":
        return float(reference.normalise(value))
    low, high = discounted(reference, DEFAULT_DISCOUNT) or (np.nan, np.nan)
    return 100 * (value - low) / (high - low)
