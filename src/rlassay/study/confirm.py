"""What was proposed after the first results, tested on mixtures made afterwards: the rule is in docs/study.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError
from rlassay.study.grid.cells import Report, read_runs
from rlassay.study.analysis.correlate import (
    KINDS,
    POOLED,
    Points,
    correlation_columns,
    correlation_rows,
)
from rlassay.study.analysis.tables import Correlations, table_of_scores, with_interval
from rlassay.study.grid.files import Row, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, FRESH_MIXTURES, PANELS, Profile

PANEL, TOGETHER = "fresh", "together"
PROPOSED = "return_by_step"
JUDGED = (
    "return",
    PROPOSED,
    "return_top10",
    "reward",
    "q",
    "bwd.exact",
    "bwd.tail",
    "bwd.sinkhorn",
    "extractable",
)
WITH_EPSILON = ("bwd.tail", "bwd.sinkhorn")  # pooled over the datasets that were scored together
BASELINES = ("return", "q", PROPOSED)
COLUMNS = correlation_columns(BASELINES)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Score the fresh mixtures and train every agent on them."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.table1 import available, describe, run_oracle, run_scores

    folder, about = results / "confirm", describe("confirm", profile)
    data = {
        environment: study_data(environment, FRESH_MIXTURES, profile, zoo, report)
        for environment in available(zoo)
    }
    failures = run_scores(folder, data, [(JUDGED, {})], profile, about, report)
    trained = [list(datasets.values()) for datasets in data.values()]
    return failures + run_oracle(folder, trained, profile, about, report)


def render(results: Path) -> str:
    """Correlations on the fresh mixtures and the verdicts, as CSV, figure and Markdown."""
    from rlassay.study.fig2 import study_points
    from rlassay.study.figures import draw_correlations

    folder = results / "confirm"
    runs = read_runs("confirm", results)
    scores = read_table(folder / "scores.csv")
    points = study_points(scores, runs, AGENTS)
    rows = correlation_rows(points, PANEL, baselines=BASELINES)
    if not any(row["scope"] == POOLED for row in rows):
        raise DatasetError(
            "fewer than two environments have three fresh mixtures with a complete oracle",
            remedy="run `rlassay study confirm --run`",
        )
    with_first = (results / "table1" / "runs.csv").exists()
    if with_first:
        everything = _with_first_mixtures(results, scores, runs)
        rows += correlation_rows(everything, TOGETHER, baselines=BASELINES)
    complete = read_about(folder / "runs.csv").get("complete")
    about = {"command": "rlassay study confirm", "complete": complete, "datasets": len(points.y)}
    write_table(folder / "correlations.csv", rows, COLUMNS, about)
    draw_correlations(points, rows, folder / "figure.svg")
    text = "### Mixtures made for the test\n\n" + _table(rows, PANEL)
    text += "\n" + "\n".join(f"- {line}" for line in verdicts(rows)) + "\n"
    if with_first:
        text += "\n### First and fresh mixtures together\n\n" + _table(rows, TOGETHER)
    write_atomically(folder / "table.md", text)
    return text


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The rule applied: a score is better than another if the interval of the paired difference lies above zero."""
    found, said = Correlations(rows), []
    for name, other in ((PROPOSED, "return"), ("q", PROPOSED), ("bwd.exact", PROPOSED)):
        row = found.row(PANEL, POOLED, "pearson", name)
        gain = with_interval(row, f"minus_{other}_")
        low, high = (row.get(f"minus_{other}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            answer = "yes" if low > 0 else "no, it is worse" if high < 0 else "not shown"
            said.append(f"`{name}` better than `{other}`: {answer} ({gain}).")
    return said


def _with_first_mixtures(results: Path, scores: Sequence[Row], runs: Sequence[Row]) -> Points:
    """The fresh mixtures beside those of Table 1, with the scores that do not depend on what was scored together."""
    from rlassay.study.fig2 import study_points

    known = [*read_table(results / "table1" / "scores.csv"), *scores]
    shared = [row for row in known if row["score_name"] not in WITH_EPSILON]
    points = study_points(shared, [*read_runs("table1", results), *runs], AGENTS)
    return points.restrict(np.isin(points.datasets, (*PANELS["mixtures"], *FRESH_MIXTURES)))


def _table(rows: Sequence[Row], panel: str) -> str:
    found = Correlations([row for row in rows if row["panel"] == panel])
    kinds = {
        f"{kind.capitalize()} (n = {found.count(panel, POOLED)})": found.pick(panel, POOLED, kind)
        for kind in KINDS
    }
    gains = {f"minus {name}": found.pick(panel, POOLED, prefix=f"minus_{name}_") for name in BASELINES}  # fmt: skip
    return table_of_scores(found.scores(of_discount=False), kinds | gains)
