"""Algorithm 1 as printed: preset `paper` on every dataset of the long oracle, beside the mended default (rule 10).

Also what rule 8 needs: the candidates for the default of `bwd`, all datasets of an environment scored together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.files import write_atomically
from rlassay.engine.store import Task
from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.stats import correlation
from rlassay.study.analysis.correlate import FEWEST, make_points, oracle_table
from rlassay.study.analysis.d4rl_scale import PAPER_SCORES, mean_scores
from rlassay.study.fig2 import CANDIDATES
from rlassay.study.grid.cells import Cell, Report, read_runs, run_table
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, read_table, write_table
from rlassay.study.grid.plan import DEFAULT_DISCOUNT, LONG, MIXTURES, OTHERS, Profile

PRESET = "paper"
DUAL, EXACT = "bwd.dual", "bwd.exact"
SCORES = ("q", "advantage", "pd", DUAL, EXACT)
LITERAL = "bwd.dual literal"  # without the constant that is added back
BESIDE = ("q", EXACT)  # of the default preset
COLUMNS = ("environment", "dataset", "score_name", "seed", "preset", "value", "converged")


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Score every dataset with the preset, one task a dataset and seed; then the candidates of rule 8."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe, run_scores

    data = {
        environment: study_data(environment, (*MIXTURES, *OTHERS), LONG, zoo, report)
        for environment in available(zoo)
    }
    about, table = describe("paper", LONG), results / PAPER_SCORES
    cells = paper_cells([each for datasets in data.values() for each in datasets.values()])
    failures = run_table(table, cells, COLUMNS, paper_rows, about, report)
    asked = [(CANDIDATES, {})]
    return failures + run_scores(results / "long", data, asked, LONG, about, report)


def paper_cells(datasets: Sequence[StudyData], seeds: int = LONG.score_seeds) -> list[Cell]:
    """One cell a dataset and seed; its key holds every setting that is used."""
    from rlassay.scoring import PRESETS
    from rlassay.scoring import SCORES as KNOWN
    from rlassay.settings import flatten

    settings = flatten(PRESETS[PRESET])
    revisions = {name: KNOWN[name].revision for name in SCORES}
    asked = {"preset": PRESET, "scores": list(SCORES), "revisions": revisions, "settings": settings}
    return [
        Cell(
            Task(
                "paper-scores",
                "rlassay.study.paper:score_task",
                {**asked, "seed": seed},
                data.reference,
                label=f"preset {PRESET} on {data.environment} {data.name}, seed {seed}",
            ),
            {
                "environment": data.environment,
                "dataset": data.name,
                "seed": seed,
                "preset": PRESET,
            },
        )
        for data in datasets
        for seed in range(seeds)
    ]


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: the values, and the dual's without its constant."""
    import rlassay

    card = rlassay.score(
        data["path"], preset=settings["preset"], scores=settings["scores"], seed=settings["seed"]
    )
    return {
        "scores": {name: [found.value, found.converged] for name, found in card.scores.items()},
        "literal": card.diagnosis["transport"].get("dual", {}).get("literal"),
    }


def paper_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a score; a score whose inputs are missing, or that is no number, is an empty cell."""
    found = {name: result["scores"].get(name, (None, None)) for name in SCORES}
    found[LITERAL] = (result["literal"], None)
    return [
        {"score_name": name, "value": value, "converged": converged}
        for name, (value, converged) in found.items()
    ]


def render(results: Path) -> str:
    """Algorithm 1 as printed and the mended default, dataset by dataset; as CSV and Markdown."""
    scored = read_table(results / PAPER_SCORES)
    printed = mean_scores(scored)
    known = [results / study / "scores.csv" for study in ("table1", "confirm")]
    default = mean_scores(
        row
        for path in known
        if path.exists()
        for row in read_table(path)
        if row["discount"] == DEFAULT_DISCOUNT
    )
    rows = [
        {"environment": key[0], "dataset": key[1]}
        | {f"{name}, as printed": scores.get(name) for name in ("q", DUAL, LITERAL)}
        | {f"{name}, default": default.get(key, {}).get(name) for name in BESIDE}
        for key, scores in printed.items()
    ]
    if not rows:
        return "Nothing has been scored with preset `paper` yet.\n"
    text = (
        "Algorithm 1 as printed (preset `paper`) beside the default; means over scoring seeds.\n\n"
    )
    text += _written(results / "long" / "paper_table.csv", rows)
    runs = read_runs("long", results) if (results / "long" / "runs.csv").exists() else []
    judged = environment_rows(scored, runs)
    if judged:
        text += (
            "\nWithin each environment: scorings whose dual lies farther from `bwd.exact` of the same critic than that"
            " lies from 0, and correlations with what the agents of the long oracle reached.\n\n"
        )
        text += _written(results / "long" / "paper_environments.csv", judged)
    write_atomically(results / "long" / "paper_table.md", text)
    return text


def _written(table: Path, rows: Sequence[Row]) -> str:
    """The rows as CSV, and for the page."""
    columns = list(rows[0])
    write_table(table, rows, columns, {"command": "rlassay study paper", "preset": PRESET})
    return markdown_table([{k: _short(v) for k, v in row.items()} for row in rows], columns)


def environment_rows(scores: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """How often the dual is far off, and how the printed scores order the datasets that all agents have run on."""
    reached = oracle_table(runs, LONG_AGENTS)
    rows = []
    for environment in dict.fromkeys(row["environment"] for row in scores):
        mine = [row for row in scores if row["environment"] == environment]
        points = make_points(mine, {k: v for k, v in reached.items() if k[0] == environment}, {})
        if len(points.y) < FEWEST:
            continue
        scorings = {(row["dataset"], row["seed"]) for row in mine}
        row = {"environment": environment, "scorings": len(scorings), "dual far off": far_off(mine)}
        row["datasets"] = len(points.y)
        for kind in ("pearson", "spearman"):
            for name in (*BESIDE, DUAL):
                x = points.x.get(name)  # not there where a dataset lacks it
                value = None if x is None else correlation(x.mean(axis=1), points.y, kind)
                row[f"{name}, {kind}"] = value
        rows.append(row)
    return rows


def far_off(scores: Sequence[Row]) -> int:
    """Scorings whose dual lies farther from the exact value of the same critic than that lies from 0."""
    duals, exact = (
        {(r["dataset"], r["seed"]): r["value"] for r in scores if r["score_name"] == name}
        for name in (DUAL, EXACT)
    )
    pairs = [(value, exact.get(each)) for each, value in duals.items()]
    return sum(
        abs(value - known) > abs(known)
        for value, known in pairs
        if value is not None and known is not None
    )


def _short(value: Any) -> Any:
    """A diverged dual has twenty digits: in short form."""
    return f"{value:.2e}" if isinstance(value, float) and abs(value) >= 1e6 else value
