"""Discrete actions: scores of graded CartPole and Acrobot data beside what six agents reach; rules in docs/study.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.study.analysis.correlate import (
    BASELINES,
    KINDS,
    POOLED,
    Points,
    correlation_columns,
    correlation_rows,
    runs_by_dataset,
)
from rlassay.study.analysis.points import study_points
from rlassay.study.analysis.questions import answer
from rlassay.study.analysis.tables import Correlations, table_of_scores, with_interval
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, read_table, write_table
from rlassay.study.grid.plan import (
    DISCRETE,
    DISCRETE_AGENTS,
    DISCRETE_CHANGES,
    DISCRETE_DATASETS,
    DISCRETE_ENVIRONMENTS,
    DISCRETE_MIXTURES,
    Profile,
)

ALL, MIXTURES = "all", "mixtures"
ASKED = (  # rule 4: is the first better than the second?
    ("bwd.exact", "return"),
    ("bwd.exact", "q"),
    ("q", "return"),
    ("return_by_step", "return"),
)
LEFT_OUT = ("bwd", "bwd.dual")  # the first is bwd.exact, the second rule 3 leaves out


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train every agent on every dataset, and score them; its budget is its own, whatever profile is named."""
    from rlassay.scoring.registry import resolve
    from rlassay.study.grid.running import describe, run_scores
    from rlassay.study.grid.training import run_trainings

    folder = results / "discrete"
    about = {**describe("discrete", DISCRETE), "changes": DISCRETE_CHANGES}
    data = discrete_data(zoo, report)
    failures = run_trainings(folder, discrete_cells(data), about, report)
    asked = [name for name in resolve(None) if name not in LEFT_OUT]
    return failures + run_scores(folder, data, [(asked, {})], DISCRETE, about, report)


def discrete_data(zoo: Path, report: Report) -> dict[str, dict[str, StudyData]]:
    """The datasets of every environment, by name."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available

    return {
        environment: study_data(environment, DISCRETE_DATASETS, DISCRETE, zoo, report)
        for environment in available(zoo, DISCRETE_ENVIRONMENTS)
    }


def discrete_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """The first dataset of every environment, then the second: comparisons are complete early."""
    from rlassay.study.grid.training import training_cells

    ordered = [datasets[name] for name in DISCRETE_DATASETS for datasets in data.values()]
    seeds = range(DISCRETE.oracle_seeds)
    asked = DISCRETE_AGENTS, seeds, DISCRETE.name, DISCRETE_CHANGES
    return training_cells(ordered, *asked, discrete=True)


# -- what is shown -------------------------------------------------------------------------------------------------


def render(results: Path) -> str:
    """Returns that the agents reach, and, once every cell is there, the questions of rule 4 with the correlations."""
    folder = results / "discrete"
    runs = with_returns(read_runs("discrete", results))
    text = "### Returns that the agents reach\n\n" + markdown_table(
        return_rows(runs), ["environment", "dataset", *DISCRETE_AGENTS]
    )
    points = _points(folder, runs)
    whole = len(DISCRETE_DATASETS) * len(DISCRETE_ENVIRONMENTS)
    if points is None or len(points.y) < whole:
        known = 0 if points is None else len(points.y)
        text += f"\n{known} of {whole} datasets have all agents and scores; nothing is compared before the last.\n"
    else:
        text += _answers(results, points)
    write_atomically(folder / "table.md", text)
    return text


def with_returns(runs: Sequence[Row]) -> list[Row]:
    """Rule 2: no reference is published, so what counts is the plain return."""
    return [{**run, "score": run["return"]} for run in runs]


def return_rows(runs: Sequence[Row]) -> list[Row]:
    """One row a dataset, one column an agent."""
    return [
        {"environment": environment, "dataset": dataset}
        | {run["agent"]: float(run["score"]) for run in found}
        for (environment, dataset), found in runs_by_dataset(runs).items()
    ]


def _points(folder: Path, runs: Sequence[Row]) -> Points | None:
    if not (folder / "scores.csv").exists():
        return None
    return study_points(read_table(folder / "scores.csv"), runs, DISCRETE_AGENTS)


def _answers(results: Path, points: Points) -> str:
    mixed = points.restrict(np.isin(points.datasets, DISCRETE_MIXTURES))
    panels = {ALL: points, MIXTURES: mixed}
    rows = [row for name, part in panels.items() for row in correlation_rows(part, name)]
    about = {"command": "rlassay study discrete", "datasets": len(points.y)}
    folder = results / "discrete"
    write_table(folder / "correlations.csv", rows, correlation_columns(), about)
    found = Correlations(rows)
    asked = question_rows(found, _continuous(results))
    write_table(folder / "questions.csv", asked, list(asked[0]), about)
    text = "\n### The questions\n\n" + markdown_table(asked, list(asked[0]))
    kinds = {
        f"{kind.capitalize()} (n = {len(points.y)})": found.pick(ALL, POOLED, kind)
        for kind in KINDS
    }
    gains = {f"minus {n}": found.pick(ALL, POOLED, prefix=f"minus_{n}_") for n in BASELINES}
    alone = {f"{env} (n = 6)": found.pick(ALL, env) for env in found.environments}
    on_mixtures = {f"{MIXTURES} (n = {len(mixed.y)})": found.pick(MIXTURES, POOLED)}
    columns = kinds | gains | on_mixtures | alone
    return text + "\n### Correlations\n\n" + table_of_scores(found.scores(False), columns)


def _continuous(results: Path) -> Correlations | None:
    """The correlations of Figure 2, beside which these stand."""
    path = results / "fig2" / "correlations.csv"
    return Correlations(read_table(path)) if path.exists() else None


def question_rows(found: Correlations, continuous: Correlations | None) -> list[Row]:
    """Rule 4: paired differences of the pooled Pearson, with their answers and those of the continuous study."""
    return [
        {
            "panel": panel,
            "score": score,
            "better than": other,
            **_told(found, panel, score, other),
            **{
                f"continuous {name}": value
                for name, value in _told(continuous, panel, score, other).items()
            },
        }
        for panel in (ALL, MIXTURES)
        for score, other in ASKED
    ]


def _told(found: Correlations | None, panel: str, score: str, other: str) -> Row:
    """The difference with its interval, and what it says."""
    row = {} if found is None else found.row(panel, POOLED, "pearson", score)
    prefix = f"minus_{other}_"
    if row.get(f"{prefix}value") is None:
        return {"difference": "", "answer": ""}
    said = answer(row[f"{prefix}low"], row[f"{prefix}high"])
    return {"difference": with_interval(row, prefix), "answer": said}
