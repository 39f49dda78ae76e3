"""What the studies share when they run: environments the zoo holds, groups of scores, and the oracle in a telling order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.errors import DatasetError
from rlassay.study.grid.cells import Report, run_table
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import AGENTS, ENVIRONMENTS, Profile

Asked = tuple[Sequence[str], Mapping[str, Any]]  # scores, and the settings they are computed with


def describe(study: str, profile: Profile) -> Row:
    """What the raw tables of a study say of themselves."""
    command = f"rlassay study {study} --profile {profile.name} --run"
    return {"command": command, "profile": profile.name}


def run_scores(
    folder: Path,
    data: Mapping[str, Mapping[str, Any]],
    asked: Sequence[Asked],
    profile: Profile,
    about: Row,
    report: Report,
) -> list[str]:
    """Every asked group of scores, with its settings, of every environment's datasets."""
    from rlassay.study.scoring import COLUMNS, score_cells, score_rows

    grid = [
        cell
        for environment, datasets in data.items()
        for scores, settings in asked
        for cell in score_cells(
            environment, list(datasets.values()), profile.score_seeds, scores, settings
        )
    ]
    table = folder / "scores.csv"
    return run_table(table, grid, COLUMNS, score_rows, about, report)


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
