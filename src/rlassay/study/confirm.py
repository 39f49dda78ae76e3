"""What was proposed after the first results, tested on mixtures made afterwards: the rule is in docs/study.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError
from rlassay.study.cells import Report, refuse_mixed
from rlassay.study.correlate import KINDS, POOLED, correlation_columns, correlation_rows
from rlassay.study.correlation_tables import Correlations, table_of_scores, with_interval
from rlassay.study.files import Row, read_about, read_table, write_table
from rlassay.study.plan import AGENTS, FRESH_MIXTURES, PANELS, Profile

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
OF_ANY_SET = tuple(
    name for name in JUDGED if name not in ("bwd.tail", "bwd.sinkhorn")
)  # without an epsilon, which is pooled over the datasets scored together
BASELINES = ("return", "q", PROPOSED)
COLUMNS = correlation_columns(BASELINES)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Score the fresh mixtures and train every agent on them."""
    from rlassay.study.data import study_data
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
    refuse_mixed(folder / "runs.csv", "rlassay study confirm --run")
    scores, runs = read_table(folder / "scores.csv"), read_table(folder / "runs.csv")
    points = study_points(scores, runs, AGENTS)
    rows = correlation_rows(points, PANEL, baselines=BASELINES)
    if not any(row["scope"] == POOLED for row in rows):
        raise DatasetError(
            "fewer than two environments have three fresh mixtures with a complete oracle",
            remedy="run `rlassay study confirm --run`",
        )
    earlier_scores, earlier_runs = _first_mixtures(results)
    everything = study_points([*earlier_scores, *scores], [*earlier_runs, *runs], AGENTS)
    rows += correlation_rows(everything, TOGETHER, baselines=BASELINES) if earlier_runs else []
    complete = read_about(folder / "runs.csv").get("complete")
    about = {"command": "rlassay study confirm", "complete": complete, "datasets": len(points.y)}
    write_table(folder / "correlations.csv", rows, COLUMNS, about)
    draw_correlations(points, rows, folder / "figure.svg")
    text = "### Mixtures made for the test\n\n" + _table(rows, PANEL)
    text += "\n" + "\n".join(f"- {line}" for line in verdicts(rows)) + "\n"
    if earlier_runs:
        text += "\n### First and fresh mixtures together\n\n" + _table(rows, TOGETHER)
    write_atomically(folder / "table.md", text)
    return text


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The rule applied: a score is better than another if the interval of the paired difference lies above zero."""
    asked = (PANEL, POOLED, "pearson")
    found = {r["score_name"]: r for r in rows if (r["panel"], r["scope"], r["kind"]) == asked}
    said = []
    for name, other in ((PROPOSED, "return"), ("q", PROPOSED), ("bwd.exact", PROPOSED)):
        gain = with_interval(found.get(name, {}), f"minus_{other}_")
        low, high = (found.get(name, {}).get(f"minus_{other}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            answer = "yes" if low > 0 else "no, it is worse" if high < 0 else "not shown"
            said.append(f"`{name}` better than `{other}`: {answer} ({gain}).")
    return said


def _first_mixtures(results: Path) -> tuple[list[Row], list[Row]]:
    """Scores and runs of the mixtures of Table 1, where that is there."""
    if not (results / "table1" / "runs.csv").exists():
        return [], []
    scores, runs = (read_table(results / "table1" / name) for name in ("scores.csv", "runs.csv"))
    kept = [row for row in scores if row["score_name"] in OF_ANY_SET and row["discount"] == 0.99]  # fmt: skip
    mixtures = set(PANELS["mixtures"])
    return [r for r in kept if r["dataset"] in mixtures], [r for r in runs if r["dataset"] in mixtures]  # fmt: skip


def _table(rows: Sequence[Row], panel: str) -> str:
    found = Correlations([row for row in rows if row["panel"] == panel])
    kinds = {
        f"{kind.capitalize()} (n = {found.count(panel, POOLED)})": found.pick(panel, POOLED, kind)
        for kind in KINDS
    }
    gains = {f"minus {name}": found.pick(panel, POOLED, prefix=f"minus_{name}_") for name in BASELINES}  # fmt: skip
    return table_of_scores(found.scores(of_discount=False), kinds | gains)
