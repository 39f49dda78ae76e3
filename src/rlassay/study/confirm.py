"""What was proposed after the first results, tested on mixtures made afterwards: the rule is in docs/study.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError
from rlassay.study.analysis.correlate import (
    KINDS,
    POOLED,
    Points,
    correlation_columns,
    correlation_rows,
)
from rlassay.study.analysis.d4rl_scale import scores_on_d4rl_scale
from rlassay.study.analysis.points import study_points
from rlassay.study.analysis.questions import (
    SCALINGS,
    Grid,
    answer,
    columns_with_interval,
    dataset_weights,
    make_grid,
    pearson,
    targets,
    with_whole,
)
from rlassay.study.analysis.tables import Correlations, table_of_scores, with_interval
from rlassay.study.figures import draw_correlations
from rlassay.study.grid.cells import Report, read_runs
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, FRESH_MIXTURES, MIXTURES, PANELS, Profile

PANEL, TOGETHER = "fresh", "together"
PROPOSED = "return_by_step"
ASKED = (
    (PROPOSED, "return"),
    ("q", PROPOSED),
    ("bwd.exact", PROPOSED),
)  # of the rule: better than?
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
    from rlassay.study.grid.running import available, describe, run_oracle, run_scores

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
    text += _other_scalings(results, about)
    write_atomically(folder / "table.md", text)
    return text


def _other_scalings(results: Path, about: Row) -> str:
    """The same differences on the scale that scores and oracle share, and with min-max repeated in every resample."""
    runs = [
        run
        for study in ("table1", "confirm")
        if (results / study / "runs.csv").exists()
        for run in read_runs(study, results)
    ]
    grid = make_grid(scores_on_d4rl_scale(results), runs, AGENTS)
    panels: dict[str, tuple[str, ...]] = {PANEL: FRESH_MIXTURES}
    if np.isin(grid.datasets, PANELS["mixtures"]).any():
        panels[TOGETHER] = MIXTURES
    rows = [
        row
        for panel, members in panels.items()
        for row in scaling_rows(grid.restrict(np.isin(grid.datasets, members)), panel)
    ]
    if not rows:
        return ""
    columns = list(rows[0])
    write_table(results / "confirm" / "scalings.csv", rows, columns, about)
    shown = [{**row, "difference": with_interval(row, "difference_")} for row in rows]
    text = "\n### The same differences with other scalings\n\nThe verdicts above scale four points an environment once, before resampling. Here the scaling is repeated in every resample, or scores and oracle stay on D4RL's scale, which they share.\n\n"
    return text + markdown_table(
        shown, ["panel", "scaling", "score", "minus", "n", "difference", "better"]
    )


def scaling_rows(grid: Grid, panel: str) -> list[Row]:
    """Paired differences of Pearson under every scaling, datasets resampled within environments as above."""
    rows: list[Row] = []
    if len(grid.datasets) == 0:
        return rows
    weights = with_whole(dataset_weights(grid.environments))
    for scaling, scale in SCALINGS.items():
        y = scale(targets(grid)["mean of agents"], grid.environments, weights)
        for name, other in (*ASKED, ("q", "return"), ("bwd.exact", "return")):
            if name in grid.scores and other in grid.scores:
                first, second = (
                    pearson(scale(grid.scores[each], grid.environments, weights), y, weights)
                    for each in (name, other)
                )
                row: Row = {"panel": panel, "scaling": scaling, "score": name, "minus": other}
                row |= {"n": len(grid.datasets)} | columns_with_interval(
                    "difference_", first - second
                )
                low, high = row["difference_low"], row["difference_high"]
                rows.append(row | {"better": answer(low, high)})
    return rows


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The rule applied: a score is better than another if the interval of the paired difference lies above zero.

    An interval below zero does not refute: see the other scalings.
    """
    found, said = Correlations(rows), []
    for name, other in ASKED:
        row = found.row(PANEL, POOLED, "pearson", name)
        gain = with_interval(row, f"minus_{other}_")
        low, high = (row.get(f"minus_{other}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            said.append(
                f"`{name}` better than `{other}`: {'yes' if low > 0 else 'not shown'} ({gain})."
            )
    return said


def _with_first_mixtures(results: Path, scores: Sequence[Row], runs: Sequence[Row]) -> Points:
    """The fresh mixtures beside those of Table 1, with the scores that do not depend on what was scored together."""
    known = [*read_table(results / "table1" / "scores.csv"), *scores]
    shared = [row for row in known if row["score_name"] not in WITH_EPSILON]
    points = study_points(shared, [*read_runs("table1", results), *runs], AGENTS)
    return points.restrict(np.isin(points.datasets, MIXTURES))


def _table(rows: Sequence[Row], panel: str) -> str:
    found = Correlations([row for row in rows if row["panel"] == panel])
    kinds = {
        f"{kind.capitalize()} (n = {found.count(panel, POOLED)})": found.pick(panel, POOLED, kind)
        for kind in KINDS
    }
    gains = {
        f"minus {name}": found.pick(panel, POOLED, prefix=f"minus_{name}_") for name in BASELINES
    }
    return table_of_scores(found.scores(of_discount=False), kinds | gains)
