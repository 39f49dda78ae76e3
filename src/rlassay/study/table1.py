"""Table 1: every score and the oracle for every dataset, three environments; the paper's printed rows beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlassay.study.analysis.correlate import oracle_table
from rlassay.study.grid.cells import Report, read_runs
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, DEFAULT_DISCOUNT, ORACLE_DATASETS, PANELS, Profile
from rlassay.study.grid.running import Asked, available, describe, run_oracle, run_scores
from rlassay.study.printed import printed
from rlassay.study.scoring import FIRST_SCORES

OTHER_DISCOUNTS = (0.995, 0.999)  # a value at .99 can misorder long episodes
VALUE_SCORES = (
    "q",
    "advantage",
    "pd",
    "bwd.exact",
    "bwd.tail",
    "bwd.sinkhorn",
)  # rescored at the other discounts
LATER_SCORES = (
    "return_by_step",
)  # proposed after looking at the first results (docs/study.md); cells of their own keep the earlier ones valid
SHOWN = (
    "reward",
    "return",
    "return_by_step",
    "q",
    "advantage",
    "pd",
    "bwd.exact",
    "bwd.tail",
    "bwd.dual",
    "bwd.sinkhorn",
)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Score and train what is missing, then export; returns the causes of failures."""
    from rlassay.study.grid.data import study_data

    folder, about = results / "table1", describe("table1", profile)
    data = {
        environment: study_data(environment, PANELS["all"], profile, zoo, report)
        for environment in available(zoo)
    }
    failures = run_scores(folder, data, asked_scores(), profile, about, report)
    trained = [[datasets[name] for name in ORACLE_DATASETS] for datasets in data.values()]
    return failures + run_oracle(folder, trained, profile, about, report)


def asked_scores() -> list[Asked]:
    """What the study scores: the first scores, those proposed later, and value scores at the other discounts."""
    rescored = [(VALUE_SCORES, {"critic.discount": discount}) for discount in OTHER_DISCOUNTS]
    return [(FIRST_SCORES, {}), (LATER_SCORES, {}), *rescored]


def render(results: Path) -> str:
    """The Markdown table from committed results; also written as CSV."""
    folder = results / "table1"
    runs = read_runs("table1", results)
    rows = table_rows(read_table(folder / "scores.csv"), runs)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    complete = all(read_about(folder / name).get("complete") for name in ("scores.csv", "runs.csv"))
    about = {"command": "rlassay study table1", "complete": complete}
    write_table(folder / "table.csv", rows, columns, about)
    shown = ["environment", "dataset", "oracle", "agents", *SHOWN]
    text = markdown_table(rows, [name for name in shown if name in columns])
    beside = [row for row in rows if "paper_oracle" in row]
    paper = [
        "environment",
        "dataset",
        "oracle",
        "paper_oracle",
        "q",
        "paper_q",
        "pd",
        "paper_pd",
        "bwd.exact",
        "bwd.tail",
        "paper_bwd",
    ]
    text += "\n### Beside the paper's printed rows\n\n" + markdown_table(beside, paper)
    _write_markdown(folder / "table.md", text)
    _draw_curves(folder)
    return text


def table_rows(scores: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """One row a dataset: the oracle, how many of its agents have run, the mean of every score over seeds."""
    oracle = oracle_table(runs, AGENTS)
    counted: dict[tuple[str, str], set[str]] = {}
    for run_row in runs:
        if run_row["score"] is not None:
            counted.setdefault((run_row["environment"], run_row["dataset"]), set()).add(
                run_row["agent"]
            )
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in scores:
        if row["discount"] == DEFAULT_DISCOUNT and row["dataset"] is not None:
            cell = values.setdefault((row["environment"], row["dataset"]), {})
            if row["value"] is not None:
                cell.setdefault(row["score_name"], []).append(row["value"])
    rows = []
    for key, cell in values.items():
        row: Row = {"environment": key[0], "dataset": key[1], "oracle": oracle.get(key)}
        row["agents"] = f"{len(counted.get(key, ()))}/{len(AGENTS)}"
        row |= {name: float(np.mean(found)) for name, found in cell.items()}
        rows.append(row | printed(*key))
    return rows


def _draw_curves(folder: Path) -> None:
    from rlassay.study.figures import draw_curves

    if (folder / "curves.csv").exists():
        draw_curves(read_table(folder / "curves.csv"), folder / "curves.svg", AGENTS)


def _write_markdown(path: Path, text: str) -> None:
    from rlassay.engine.files import write_atomically

    write_atomically(path, text)
