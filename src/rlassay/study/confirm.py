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
from rlassay.study.plan import AGENTS, FRESH_MIXTURES, Profile

PANEL = "fresh"
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
    points = study_points(
        read_table(folder / "scores.csv"), read_table(folder / "runs.csv"), AGENTS
    )
    rows = correlation_rows(points, PANEL, baselines=BASELINES)
    if not any(row["scope"] == POOLED for row in rows):
        raise DatasetError(
            "fewer than two environments have three fresh mixtures with a complete oracle",
            remedy="run `rlassay study confirm --run`",
        )
    complete = read_about(folder / "runs.csv").get("complete")
    about = {"command": "rlassay study confirm", "complete": complete, "datasets": len(points.y)}
    write_table(folder / "correlations.csv", rows, COLUMNS, about)
    draw_correlations(points, rows, folder / "figure.svg")
    text = _table(rows) + "\n" + "\n".join(f"- {line}" for line in verdicts(rows)) + "\n"
    write_atomically(folder / "table.md", text)
    return text


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The rule applied: a score is better than another if the interval of the paired difference lies above zero."""
    found = {r["score_name"]: r for r in rows if (r["scope"], r["kind"]) == (POOLED, "pearson")}
    said = []
    for name, other in ((PROPOSED, "return"), ("q", PROPOSED), ("bwd.exact", PROPOSED)):
        gain = with_interval(found.get(name, {}), f"minus_{other}_")
        low, high = (found.get(name, {}).get(f"minus_{other}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            answer = "yes" if low > 0 else "no, it is worse" if high < 0 else "not shown"
            said.append(f"`{name}` better than `{other}`: {answer} ({gain}).")
    return said


def _table(rows: Sequence[Row]) -> str:
    found = Correlations(rows)
    kinds = {
        f"{kind.capitalize()} (n = {found.count(PANEL, POOLED)})": found.pick(PANEL, POOLED, kind)
        for kind in KINDS
    }
    gains = {f"minus {name}": found.pick(PANEL, POOLED, prefix=f"minus_{name}_") for name in BASELINES}  # fmt: skip
    return table_of_scores(found.scores(of_discount=False), kinds | gains)
