"""Table 2 and Figure 3: IQL against IQL with a regulariser, per level, paired by seed; a sweep over the weight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.stats import mean_interval
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import Profile
from rlassay.study.grid.sweep import run_sweep, write_sweep

LEVELS = ("level-50k", "level-200k", "level-600k", "level-1000k")
SEEDS = 3
PLAIN = "iql"
VARIANTS = {
    PLAIN: {},
    "bwd": {"iql.regulariser": "bwd"},  # Algorithm 2, literally
    "value_gap": {"iql.regulariser": "value_gap"},
    "performance_difference": {"iql.regulariser": "performance_difference"},
}
SWEEP_WEIGHTS = (0.1, 1.0, 10.0)  # of `bwd_weight`, on the sweep's levels
SWEEP_LEVELS = ("level-200k", "level-1000k")
SUMMARY = ("environment", "dataset", "variant", "runs", "score", "difference", "low", "high")


def cells(environment: str, profile: Profile, zoo: Path, report: Report) -> list[Cell]:
    """Plain IQL and Algorithm 2 first, then the variants, then the sweep."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.training import training_cells

    data = study_data(environment, LEVELS, profile, zoo, report)
    found = []
    for name, changes in VARIANTS.items():
        found += training_cells(data.values(), ["iql"], range(SEEDS), profile.name, changes, name)
    swept = [data[level] for level in SWEEP_LEVELS]
    for weight in SWEEP_WEIGHTS:
        changes = {"iql.regulariser": "bwd", "iql.bwd_weight": weight}
        label = f"bwd weight {weight:g}"
        found += training_cells(swept, ["iql"], range(SEEDS), profile.name, changes, label)
    return found


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing and export."""
    return run_sweep("table2", cells, results, profile, zoo, report)


def render(results: Path) -> str:
    """Scores and paired differences, as Markdown, CSV and figure."""
    rows = summarise(read_runs("table2", results))
    _draw(rows, results / "table2" / "figure.svg")
    return write_sweep("table2", results, rows, SUMMARY)


def summarise(runs: Sequence[Row]) -> list[Row]:
    """Mean score, and the difference to plain IQL paired by seed with its 95 % t interval."""
    scores: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in runs:
        cell = scores.setdefault((row["environment"], row["dataset"], str(row["variant"])), {})
        if row["score"] is not None:
            cell[int(row["seed"])] = row["score"]
    rows = []
    for (environment, dataset, variant), found in scores.items():
        plain = scores.get((environment, dataset, PLAIN), {})
        shared = sorted(set(found) & set(plain)) if variant != PLAIN else []
        row: Row = {
            "environment": environment,
            "dataset": dataset,
            "variant": variant,
            "runs": len(found),
        }
        row["score"] = float(np.mean(list(found.values()))) if found else None
        rows.append(row | _difference([found[s] - plain[s] for s in shared]))
    return rows


def _difference(gains: Sequence[float]) -> Row:
    low, high = mean_interval(gains) or (None, None)
    return {"difference": float(np.mean(gains)) if gains else None, "low": low, "high": high}


def _draw(rows: Sequence[Row], path: Path) -> None:
    from rlassay.study.figures import draw_paired

    draw_paired([row for row in rows if row["variant"] in VARIANTS], path, LEVELS, PLAIN)
