"""Table 2 and Figure 3: IQL against IQL with a regulariser, per level, paired by seed; a sweep over the weight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.study.cells import Cell, Report, refuse_mixed, run_cells
from rlassay.study.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.plan import Profile

ENVIRONMENTS = {"lite": ("Hopper-v5",), "paper": ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5")}
LEVELS = ("level-50k", "level-200k", "level-600k", "level-1000k")
SEEDS = 3
PLAIN = "iql"
VARIANTS = {
    PLAIN: {},
    "bwd": {"iql.regulariser": "bwd"},  # Algorithm 2, literally
    "value_gap": {"iql.regulariser": "value_gap"},
    "performance_difference": {"iql.regulariser": "performance_difference"},
}
SWEEP_WEIGHTS = (0.1, 1.0, 10.0)  # of `bwd_weight`, on the sweep's level
SWEEP_LEVEL = "level-200k"
SUMMARY = ("environment", "dataset", "variant", "runs", "score", "difference", "low", "high")


def cells(environments: Sequence[str], profile: Profile, zoo: Path) -> list[Cell]:
    """Plain IQL and Algorithm 2 first, then the variants, then the sweep."""
    from rlassay.study.data import study_data
    from rlassay.study.training import training_cells

    found = []
    for environment in environments:
        data = study_data(environment, LEVELS, profile, zoo)
        for name, changes in VARIANTS.items():
            found += training_cells(data.values(), ["iql"], SEEDS, profile.name, changes, name)
        for weight in SWEEP_WEIGHTS:
            changes = {"iql.regulariser": "bwd", "iql.bwd_weight": weight}
            sweep = [data[SWEEP_LEVEL]]
            found += training_cells(
                sweep, ["iql"], SEEDS, profile.name, changes, f"bwd weight {weight:g}"
            )
    return found


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing and export."""
    from rlassay.study.table1 import available, export_runs

    environments = [env for env in ENVIRONMENTS[profile.name] if env in available(zoo)]
    grid = cells(environments, profile, zoo)
    failures = run_cells(grid, report=report)
    about = {
        "command": f"rlassay study table2 --profile {profile.name} --run",
        "profile": profile.name,
    }
    export_runs(results / "table2", grid, about)
    return failures


def render(results: Path) -> str:
    """Scores and paired differences, as Markdown, CSV and figure."""
    folder = results / "table2"
    refuse_mixed(folder / "runs.csv", "rlassay study table2 --run")
    rows = summarise(read_table(folder / "runs.csv"))
    about = {
        "command": "rlassay study table2",
        "complete": read_about(folder / "runs.csv").get("complete"),
    }
    write_table(folder / "table.csv", rows, SUMMARY, about)
    _draw(rows, folder / "figure.svg")
    text = markdown_table(rows, SUMMARY)
    from rlassay.engine.files import write_atomically

    write_atomically(folder / "table.md", text)
    return text


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
        rows.append(row | _difference(np.array([found[s] - plain[s] for s in shared])))
    return rows


def _difference(gains: np.ndarray) -> Row:
    from scipy.special import stdtrit

    if len(gains) == 0:
        return {"difference": None, "low": None, "high": None}
    mean = float(gains.mean())
    if len(gains) == 1:
        return {"difference": mean, "low": None, "high": None}
    half = float(stdtrit(len(gains) - 1, 0.975) * gains.std(ddof=1) / np.sqrt(len(gains)))
    return {"difference": mean, "low": mean - half, "high": mean + half}


def _draw(rows: Sequence[Row], path: Path) -> None:
    from rlassay.study.figures import draw_lines

    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if row["score"] is not None and row["variant"] in VARIANTS:
            lines = series.setdefault(row["environment"], {})
            place = float(LEVELS.index(row["dataset"]))
            lines.setdefault(row["variant"], []).append((place, row["score"]))
    draw_lines(
        series, path, xlabel="level of the data", ylabel="normalised return (0 to 100)", ticks=LEVELS
    )  # fmt: skip
