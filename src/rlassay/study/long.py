"""The long oracle: every agent trained until it has come to rest, on all mixtures first; rules in docs/long-oracle.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.oracle.profiles import LONG_AGENTS, PROFILES
from rlassay.study.analysis.correlate import (
    choice_rows,
    choose,
    complete_runs,
    leave_one_out,
    oracle_table,
)
from rlassay.study.analysis.d4rl_scale import scores_on_d4rl_scale
from rlassay.study.analysis.points import join_scores
from rlassay.study.analysis.questions import (
    BASE,
    Curves,
    Grid,
    forecast_rows,
    growth_rows,
    jackknife_rows,
    make_grid,
    primary_answer,
    question_rows,
    returns_of,
    when_rows,
)
from rlassay.study.analysis.reliability import (
    ceiling_row,
    reliability_over_agents,
    reliability_over_seeds,
)
from rlassay.study.analysis.rest import CLONING_SHARE, curves_by_run, rest_rows, rest_summary
from rlassay.study.analysis.tables import one_row_a_score
from rlassay.study.fig2 import CANDIDATES
from rlassay.study.figures import draw_when
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, markdown_table, read_table, write_table
from rlassay.study.grid.plan import ENVIRONMENTS, LONG, MIXTURES, OTHERS, Profile
from rlassay.study.grid.progress import progress_row
from rlassay.study.side_by_side import mixtures_are_complete

LONG_UPDATES = PROFILES["long"]["*"]["updates"]
LITE_UPDATES = PROFILES["lite"]["*"]["updates"]
ENTERS = {agent: share * LONG_UPDATES for agent, share in CLONING_SHARE.items()}
# What is printed of the tables, under which heading; the others are printed otherwise, or in their CSV alone.
HEADINGS = {
    "forecasts": "Root mean squared error in points, the number itself taken as the forecast",
    "jackknife": "Pearson with the mean of the agents, one environment left out",
    "reliability": "The noise ceiling",
    "rest_by_agent": "The mean of the evaluations at 60,000 to 80,000 updates beside that at 130,000 to 150,000",
    "growth": "Along the training: means over the mixtures in points, and Pearson with three returns",
}


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train what is missing, in the order of the plan; its budget is `long`, whatever profile is named."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe
    from rlassay.study.grid.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    data = {
        environment: study_data(environment, (*MIXTURES, *OTHERS), LONG, zoo, report)
        for environment in available(zoo)
    }
    about = {**describe("long", LONG), "agents": list(LONG_AGENTS)}
    cells = long_cells(data)
    return run_trainings(results / "long", cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def long_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """(a) the mixtures, (b) the other datasets, (c) the mixtures once more with another seed."""
    from rlassay.study.grid.training import training_cells

    def part(names: Sequence[str], seed: int) -> list[Cell]:
        ordered = [datasets[name] for name in names for datasets in data.values()]
        return training_cells(ordered, LONG_AGENTS, [seed], LONG.name)

    return part(MIXTURES, 0) + part(OTHERS, 0) + part(MIXTURES, 1)


def render(results: Path) -> str:
    """What the rules ask, once every mixture is complete; until then only how far the grid is (rule 2)."""
    folder, runs = results / "long", read_runs("long", results)
    text = _progress(runs) + f"\nEvaluation took {evaluation_share(runs):.1%} of the time.\n"
    grid = make_grid(scores_on_d4rl_scale(results), runs, LONG_AGENTS)
    if mixtures_are_complete(grid):
        text += _answers(results, grid, runs)
    write_atomically(folder / "table.md", text)
    return text


def _progress(runs: Sequence[Row]) -> str:
    """How many runs of each part are done."""
    rows = []
    for part, names, seed in (
        ("(a) mixtures", MIXTURES, 0),
        ("(b) others", OTHERS, 0),
        ("(c) mixtures, seed 1", MIXTURES, 1),
    ):
        mine = [run for run in runs if run["dataset"] in names and run["seed"] == seed]
        rows.append(progress_row(part, mine))
    return markdown_table(rows, ["part", "runs", "done", "diverged"])


def evaluation_share(runs: Sequence[Row]) -> float:
    """The share of the training time that evaluations took, over all runs."""
    done = [run for run in runs if run["seconds"] is not None]
    total = sum(run["seconds"] for run in done)
    return sum(run["evaluation_seconds"] for run in done) / total if total else 0.0


def _answers(results: Path, grid: Grid, runs: Sequence[Row]) -> str:
    """The primary answer, tables of every question as CSV and Markdown, and who wins when."""
    folder = results / "long"
    mixtures = grid.restrict(np.isin(grid.datasets, MIXTURES))
    whole = len(grid.datasets) == (len(MIXTURES) + len(OTHERS)) * len(ENVIRONMENTS)
    panels = {"mixtures": mixtures} | ({"all": grid} if whole else {})
    curves = counted_curves(read_table(folder / "curves.csv"), runs)
    lasting = mean_curves(curves)
    tables = _tables(panels, runs, curves) | {
        "when": _when(results, mixtures, lasting),
        "growth": growth_rows(mixtures, lasting, ENTERS),
    }
    about = {"command": "rlassay study long", "datasets": len(grid.datasets)}
    text = f"\n{primary_answer(tables['questions'])}\n{_questions(tables['questions'])}"
    for name, rows in tables.items():
        write_table(folder / f"{name}.csv", rows, list(rows[0]), about)
        if name in HEADINGS:
            text += f"\n### {HEADINGS[name]}\n\n{markdown_table(rows, list(rows[0]))}"
    text += _levels(mixtures) + _moving(tables["rest"])
    draw_when(tables["when"], tables["reliability"], ENTERS, folder / "when.svg")
    return text + (_default(results, runs) if whole else "")


def _questions(rows: Sequence[Row]) -> str:
    """Every score against every target, one table a panel and scaling."""
    text = ""
    for panel, scaling in dict.fromkeys((row["panel"], row["scaling"]) for row in rows):
        mine = [row for row in rows if (row["panel"], row["scaling"]) == (panel, scaling)]
        shown = one_row_a_score(mine, "target", BASE)
        text += f"\n### {panel.capitalize()} (n = {mine[0]['n']}), {scaling}: Pearson with what agents reached\n\n"
        text += markdown_table(shown, list(shown[0]))
    return text


def _levels(mixtures: Grid) -> str:
    """What the data themselves earned, beside what agents make of it."""
    told = [f"`{name}` {mixtures.scores[name].mean():.1f}" for name in returns_of(mixtures)]
    return f"\nThe mixtures themselves, mean over them in points: {', '.join(told)}.\n"


def _moving(resting: Sequence[Row]) -> str:
    """The runs that had not come to rest (rule 7), the fastest first."""
    found = sorted(
        (row for row in resting if row["settled"] == "no"), key=lambda r: -abs(r["drift"])
    )
    text = f"\n### Runs that still move: {len(found)} of {len(resting)}\n\nDrift in points over the final phase.\n\n"
    return text + markdown_table(found, [name for name in resting[0] if name != "settled"])


def counted_curves(curves: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """Those of the runs that count: a seed does once all agents have run with it on the dataset."""
    counted = {
        (*key, run["seed"])
        for key, group in complete_runs(runs, LONG_AGENTS).items()
        for run in group
    }
    return [row for row in curves if (row["environment"], row["dataset"], row["seed"]) in counted]


def _tables(
    panels: Mapping[str, Grid], runs: Sequence[Row], curves: Sequence[Row]
) -> dict[str, list[Row]]:
    """The rows of every question, by name."""
    resting = rest_rows(curves)
    return {
        "questions": [row for name, part in panels.items() for row in question_rows(part, name)],
        "forecasts": [row for name, part in panels.items() for row in forecast_rows(part, name)],
        "jackknife": [row for name, part in panels.items() for row in jackknife_rows(part, name)],
        "reliability": _reliability(panels, runs),
        "rest": resting,
        "rest_by_agent": rest_summary(resting),
    }


def _reliability(panels: Mapping[str, Grid], runs: Sequence[Row]) -> list[Row]:
    """The noise ceiling of every panel: the square root of the oracle's reliability."""
    rows = [
        ceiling_row(panel, "agents", len(grid.datasets), reliability_over_agents(grid.reached))
        for panel, grid in panels.items()
    ]
    both = reliability_over_seeds([run for run in runs if run["dataset"] in MIXTURES], LONG_AGENTS)
    return rows if both is None else [*rows, ceiling_row("mixtures", "seeds", both[1], both[0])]


def _when(results: Path, mixtures: Grid, lasting: Curves) -> list[Row]:
    """Correlations along the long runs, and those of the lite runs' ends as points of their own."""
    rows = [{"oracle": "long", **row} for row in when_rows(mixtures, lasting, ENTERS)]
    known = [results / study / "curves.csv" for study in ("table1", "confirm")]
    lite = [row for path in known if path.exists() for row in read_table(path)]
    ends = [row for row in lite if row["updates"] == LITE_UPDATES]
    return rows + [{"oracle": "lite", **row} for row in when_rows(mixtures, mean_curves(ends), {})]


def mean_curves(curves: Sequence[Row]) -> Curves:
    """Mean over seeds of every evaluation, by environment, dataset and agent."""
    found: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    for (environment, dataset, agent, _), points in curves_by_run(curves).items():
        cell = found.setdefault((environment, dataset, agent), {})
        for updates, score in points:
            cell.setdefault(updates, []).append(score)
    return {key: {u: float(np.mean(v)) for u, v in cell.items()} for key, cell in found.items()}


def _default(results: Path, runs: Sequence[Row]) -> str:
    """Rule 8: the default of `bwd` chosen again, on all datasets, from scores that shared one epsilon."""
    path = results / "long" / "scores.csv"
    if not path.exists():
        return "\nThe default of `bwd` is chosen again once `rlassay study paper --run` has scored all datasets together.\n"
    points = join_scores(read_table(path), oracle_table(runs, LONG_AGENTS))
    known = [name for name in CANDIDATES if name in points.x]
    rows, judged = choice_rows(points, known), leave_one_out(points, known)
    about = {"command": "rlassay study long", "chosen": choose(points, known)}
    write_table(results / "long" / "choice.csv", rows, list(rows[0]), about)
    text = f"\n### The default of `bwd`, on the long oracle of {len(points.y)} datasets\n\nRule 1 chooses `{about['chosen']}`. Pearson with the mean of the agents in each environment:\n\n"
    text += markdown_table(rows, list(rows[0]))
    text += "\nChosen on the other environments, judged on the one left out:\n\n"
    return text + markdown_table(judged, list(judged[0]))
