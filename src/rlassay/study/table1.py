"""Table 1: every score and the oracle for every dataset, three environments; the paper's printed rows beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.errors import DatasetError
from rlassay.study.grid.cells import Report, export_cells, read_runs, run_cells
from rlassay.study.analysis.correlate import oracle_table
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.printed import printed
from rlassay.study.grid.plan import AGENTS, ENVIRONMENTS, ORACLE_DATASETS, PANELS, Profile

DISCOUNTS = (0.99, 0.995, 0.999)  # a value at .99 can misorder long episodes
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
Asked = tuple[Sequence[str], Mapping[str, Any]]  # scores, and the settings they are computed with
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
    from rlassay.scores import SCORES
    from rlassay.study.grid.data import study_data

    folder, about = results / "table1", describe("table1", profile)
    data = {
        environment: study_data(environment, PANELS["all"], profile, zoo, report)
        for environment in available(zoo)
    }
    first = [name for name in SCORES if name not in LATER_SCORES]
    asked: list[Asked] = [(first, {}), (LATER_SCORES, {})]
    asked += [(VALUE_SCORES, {"critic.discount": discount}) for discount in DISCOUNTS[1:]]
    failures = run_scores(folder, data, asked, profile, about, report)
    trained = [[datasets[name] for name in ORACLE_DATASETS] for datasets in data.values()]
    return failures + run_oracle(folder, trained, profile, about, report)


def describe(study: str, profile: Profile) -> Row:
    """What the raw tables of a study say of themselves."""
    command = f"rlassay study {study} --profile {profile.name} --run"
    return {"command": command, "profile": profile.name}


def run_scores(
    folder: Path, data: Mapping[str, Mapping[str, Any]], asked: Sequence[Asked], profile: Profile, about: Row,
    report: Report,
) -> list[str]:  # fmt: skip
    """Every asked group of scores, with its settings, of every environment's datasets."""
    from rlassay.study.scoring import COLUMNS, score_cells, score_rows

    grid = [
        cell
        for environment, datasets in data.items()
        for scores, settings in asked
        for cell in score_cells(environment, list(datasets.values()), profile.score_seeds, scores, settings)
    ]  # fmt: skip
    table = folder / "scores.csv"
    return run_cells(
        grid,
        table=table,
        export=lambda: export_cells(table, grid, COLUMNS, score_rows, about),
        report=report,
    )


def run_oracle(
    folder: Path, data: Sequence[Sequence[Any]], profile: Profile, about: Row, report: Report
) -> list[str]:
    """Every agent on every dataset; `data` has one sequence an environment, in the same order."""
    from rlassay.study.grid.training import run_trainings

    cells = _interleaved(data, profile)
    _tell_grid(cells, report)
    return run_trainings(folder, cells, about, report)


def _interleaved(grids: Sequence[Sequence[Any]], profile: Profile) -> list[Any]:
    """The first dataset of every environment, then the second: the most telling comparisons are complete first."""
    from rlassay.study.grid.training import training_cells

    ordered = [data for column in zip(*grids, strict=True) for data in column]
    return training_cells(ordered, AGENTS, range(profile.oracle_seeds), profile.name)


def _tell_grid(cells: Sequence[Any], report: Report) -> None:
    """Before anything long starts: how many runs, and the hours by the milliseconds an update has cost so far."""
    from rlassay.engine.store import RunStore

    store = RunStore()
    known: dict[str, list[float]] = {}
    missing: dict[str, int] = {}
    for cell in cells:
        agent, found = cell.columns["agent"], store.result(cell.task)
        if found is None:
            missing[agent] = missing.get(agent, 0) + cell.task.settings["settings"]["updates"]
        else:
            known.setdefault(agent, []).append(1e3 * found["seconds"]["total"] / found["updates"])
    cost = {agent: float(np.mean(values)) for agent, values in known.items()}
    typical = float(np.mean(list(cost.values()))) if cost else 2.0
    hours = sum(updates * cost.get(agent, typical) for agent, updates in missing.items()) / 3.6e6
    shown = ", ".join(f"{agent} {value:.2f} ms" for agent, value in sorted(cost.items()))
    report(
        f"{len(cells)} runs; an update costs {shown or 'about 2 ms (assumed)'}; {hours:.1f} core hours to go"
    )


def available(zoo: Path, wanted: Sequence[str] = ENVIRONMENTS) -> list[str]:
    """Those of the wanted environments that the zoo holds with at least two seeds; none is refused."""
    from rlassay.collect.sources import ZOO_REMEDY, ZooActors
    from rlassay.collect.zoo import read_manifest

    known = read_manifest(zoo)["environments"]
    found = [env for env in wanted if env in known and len(ZooActors.open(zoo, env).seeds()) > 1]
    if not found:
        raise DatasetError(
            f"{zoo} holds no actors of two training runs of {' or '.join(wanted)}",
            remedy=ZOO_REMEDY,
        )
    return found


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
    paper = ["environment", "dataset", "oracle", "paper_oracle", "q", "paper_q", "pd", "paper_pd",
             "bwd.exact", "bwd.tail", "paper_bwd"]  # fmt: skip
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
        if row["discount"] == DISCOUNTS[0] and row["dataset"] is not None:
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
