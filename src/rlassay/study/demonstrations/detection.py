"""Detection: eight defects at three strengths in an expert's episodes, every score's area under the ROC curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.store import Task
from rlassay.study.grid.cells import Cell, Report, run_table
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import Profile

REVISION = 1
ENVIRONMENTS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5")
EXPERT = "expert"
OTHERS = (
    "level-600k",
    "level-200k",
    "level-50k",
)  # wrong episodes, from the most to the least alike
LEVEL_OF_RULE = "middle"
FITTED = (
    "bc_surprise",
    "coverage",
    "bc_surprise.adjusted",
    "coverage.adjusted",
)  # of rows or cells, not of movement
COLUMNS = ("environment", "defect", "level", "score_name", "value", "stratified", "episodes")


def run_detection(
    folder: Path, profile: Profile, zoo: Path, about: Row, report: Report
) -> list[str]:
    """Score what is missing, the strength of the rule first; the table grows with every defect."""
    grids = [
        detection_cells(environment, datasets)
        for environment, datasets in rolled_out(profile, zoo, report).items()
    ]
    cells = sorted(
        (cell for column in zip(*grids, strict=True) for cell in column),
        key=lambda cell: cell.columns["level"] != LEVEL_OF_RULE,
    )
    table = folder / "detection.csv"
    return run_table(table, cells, COLUMNS, detection_rows, about, report)


def rolled_out(profile: Profile, zoo: Path, report: Report) -> dict[str, dict[str, StudyData]]:
    """The expert's dataset and those of the strangers, by environment."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available

    return {
        environment: study_data(environment, (EXPERT, *OTHERS), profile, zoo, report)
        for environment in available(zoo, ENVIRONMENTS)
    }


def reference_of(datasets: Mapping[str, StudyData]) -> dict[str, Any]:
    """How a task names the expert's data with the strangers'; its key holds all of them."""
    used = [datasets[name] for name in (EXPERT, *OTHERS)]
    return {
        "path": str(used[0].path),
        "fingerprint": used[0].fingerprint,
        "identity": "-".join(data.identity for data in used),
        "others": [str(data.path) for data in used[1:]],
    }


def detection_cells(environment: str, datasets: Mapping[str, StudyData]) -> list[Cell]:
    """One cell a defect and strength."""
    from rlassay.motion.defects import DEFECT_NAMES, LEVELS

    cells = []
    for defect in DEFECT_NAMES:
        for level in LEVELS:
            named = {"environment": environment, "defect": defect, "level": level}
            task = Task(
                "detection-demonstrations",
                "rlassay.study.demonstrations.detection:detection_task",
                {"defect": defect, "level": level, "seed": 0, "scores": score_names()},
                reference_of(datasets),
                REVISION,
                f"{environment} {defect} {level}",
            )
            cells.append(Cell(task, named))
    return cells


def score_names() -> list[str]:
    """Every score of movement that asks for no label, the clone's surprise and the coverage; raw and adjusted."""
    from rlassay.motion.scores import ADJUSTED, OF_LABELS, known_names

    moved = [name for name in known_names() if name.removesuffix(ADJUSTED) not in OF_LABELS]
    return [*moved, *FITTED]


def defective(settings: Mapping[str, Any], data: Mapping[str, Any]):
    """The expert's episodes with the task's defect in some of them."""
    from rlassay.formats import load
    from rlassay.motion.defects import inject

    others = [load(path) for path in data["others"]]
    expert = load(data["path"])
    return inject(
        expert, settings["defect"], settings["level"], seed=settings["seed"], others=others
    )


def detection_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: both areas of every score; null where an area or a score is unknown."""
    from rlassay.motion.detection import detection, stratified_detection

    made = defective(settings, data)
    found = {}
    for name, goodness in goodness_of(made.data, settings["scores"]).items():
        lengths = np.asarray(made.data.episode_lengths)
        areas = detection(goodness, made.mask), stratified_detection(goodness, made.mask, lengths)
        found[name] = [area if np.isfinite(area) else None for area in areas]
    return {"areas": found, "episodes": int(made.data.episode_count)}


def goodness_of(data: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Every score turned so that higher is better, NaN throughout where the data cannot have it."""
    from rlassay.motion.scores import goodness, measure
    from rlassay.motion.trajectories import motion_of
    from rlassay.scoring import episode_scores

    fitted = [name for name in names if name in FITTED]
    moved = measure(motion_of(data), [name for name in names if name not in fitted])
    turned = {name: goodness(moved, name) for name in moved}
    if not fitted:
        return turned
    table = episode_scores(data, scores=fitted, preset="fast")
    return turned | {name: table.goodness(name) for name in fitted}


def detection_rows(cell: Cell, result: Mapping[str, Any]) -> list[Row]:
    """One row a score."""
    return [
        {"score_name": name, "value": plain, "stratified": within, "episodes": result["episodes"]}
        for name, (plain, within) in result["areas"].items()
    ]


def detection_by_score(rows: Sequence[Row], level: str = LEVEL_OF_RULE) -> dict[str, dict]:
    """Stratified detection at one strength: score -> (environment, defect) -> area, NaN where it is missing."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        if row["level"] == level and row["score_name"] is not None:
            cell = row["environment"], row["defect"]
            area = row["stratified"]
            found.setdefault(row["score_name"], {})[cell] = np.nan if area is None else area
    return found


def detection_summary(rows: Sequence[Row]) -> list[Row]:
    """One row a score: the mean area within strata at each strength, best at the rule's strength first."""
    from rlassay.motion.defects import LEVELS

    names = dict.fromkeys(row["score_name"] for row in rows if row["score_name"] is not None)
    summary = []
    for name in names:
        row: Row = {"score_name": name}
        for level in LEVELS:
            areas = detection_by_score(rows, level).get(name, {})
            known = [area for area in areas.values() if np.isfinite(area)]
            row[level] = float(np.mean(known)) if known else None
        summary.append(row)
    return sorted(summary, key=lambda row: -(row[LEVEL_OF_RULE] or 0.0))


def detection_by_defect(rows: Sequence[Row], level: str = LEVEL_OF_RULE) -> list[Row]:
    """One row a raw score: its plain area for every defect at one strength, mean over environments."""
    from rlassay.motion.defects import DEFECT_NAMES
    from rlassay.motion.scores import ADJUSTED

    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        name, area = row["score_name"], row["value"]
        if row["level"] == level and name and not name.endswith(ADJUSTED) and area is not None:
            found.setdefault(name, {}).setdefault(row["defect"], []).append(area)
    named = {
        name: {k: float(np.mean(v)) for k, v in areas.items()} for name, areas in found.items()
    }
    order = sorted(named, key=lambda name: -float(np.mean(list(named[name].values()))))
    return [{"score_name": name} | {d: named[name].get(d) for d in DEFECT_NAMES} for name in order]
