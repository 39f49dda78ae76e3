"""Scores joined with an oracle, each score with the direction its definition names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rlassay.scoring import signs
from rlassay.study.analysis.correlate import Points, make_points, oracle_table
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import DEFAULT_DISCOUNT, PANELS


def study_points(scores: Sequence[Row], runs: Sequence[Row], agents: Sequence[str]) -> Points:
    """Datasets whose oracle is complete, with every score at the default discount and the value scores at others."""
    return join_scores(scores, oracle_table(runs, agents))


def join_scores(scores: Sequence[Row], oracle: Mapping[tuple[str, str], float]) -> Points:
    """Scores beside a given oracle; a discount other than the default is part of the score's name."""
    named = []
    for row in scores:
        suffix = "" if row["discount"] == DEFAULT_DISCOUNT else f"@{row['discount']:g}"
        if row["score_name"] is not None and row["score_name"] != "bwd":
            named.append({**row, "score_name": f"{row['score_name']}{suffix}"})
    turned = signs()
    turned |= {f"{name}@{d}": sign for name, sign in turned.items() for d in ("0.995", "0.999")}
    return make_points(named, oracle, turned)


def panel_points(points: Points) -> dict[str, Points]:
    """The three panels and everything together; a panel with fewer than three datasets is left out."""
    parts = {
        name: points.restrict(np.isin(points.datasets, members)) for name, members in PANELS.items()
    }
    return {name: part for name, part in parts.items() if len(part.y) >= 3}
