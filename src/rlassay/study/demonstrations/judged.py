"""What the policy test says, by the rule of docs/demonstrations.md, and only once all of its runs are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rlassay.motion.selection import Gain, default_score, gain
from rlassay.study.demonstrations.detection import detection_by_score
from rlassay.study.demonstrations.policy import CLEAN, RANDOM
from rlassay.study.grid.cells import MEASURED
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table

DETECTS = 0.7  # mean detection from which a score that does not qualify is listed
OTHERWISE = "bc_surprise"  # the default where none qualifies
GAINS = ("arm", "cells", "mean", "low", "high", "worst", "qualifies")


def incomplete(table: Path) -> str:
    """`not complete, n of N`, or nothing."""
    missing = read_about(table).get("missing") or []
    if not missing:
        return ""
    done = {
        row["key"]
        for row in read_table(table)
        if any(row.get(name) is not None for name in MEASURED)
    }
    return f"not complete, {len(done)} of {len(done) + len(missing)}"


def judgement(folder: Path) -> str:
    """The gains of every arm, the scores that qualify, those that only detect, and the default that follows."""
    runs = folder / "runs.csv"
    if not runs.exists():
        return ""
    heading = "\n### BC on the half that a score keeps, against a random half\n\n"
    if waiting := incomplete(runs):
        return f"{heading}The policy test is {waiting} runs; nothing is judged before.\n"
    differences = differences_of(read_table(runs))
    gains = {arm: gain(arm, cells) for arm, cells in differences.items()}
    rows = [_row(found, len(differences[arm])) for arm, found in gains.items()]
    by_defect = [{"arm": arm, **_by_defect(cells)} for arm, cells in differences.items()]
    about = {"command": read_about(runs).get("command"), "complete": True}
    write_table(folder / "gains.csv", rows, GAINS, about)
    write_table(folder / "gains_by_defect.csv", by_defect, list(by_defect[0]), about)
    areas = detection_by_score(read_table(folder / "detection.csv"))
    judged = [found for found in gains.values() if found.score != CLEAN]
    tables = markdown_table(rows, GAINS), markdown_table(by_defect, list(by_defect[0]))
    return heading + "\n".join(tables) + "\n" + _sentences(judged, areas, folder)


def differences_of(runs: Sequence[Row]) -> dict[str, dict[tuple[str, str], list[float]]]:
    """Arm -> (environment, defect) -> points above the random half of the same seed."""
    reached = {
        (row["environment"], row["defect"], row["arm"], int(row["seed"])): row["score"]
        for row in runs
        if row["score"] is not None
    }
    found: dict[str, dict[tuple[str, str], list[float]]] = {}
    for (environment, defect, arm, seed), score in reached.items():
        base = reached.get((environment, defect, RANDOM, seed))
        if arm != RANDOM and base is not None:
            cells = found.setdefault(arm, {})
            cells.setdefault((environment, defect), []).append(score - base)
    return found


def _by_defect(cells: Mapping[tuple[str, str], Sequence[float]]) -> Row:
    """Mean over environments and seeds, for every defect."""
    defects = dict.fromkeys(defect for _, defect in cells)
    return {
        wanted: float(np.mean([np.mean(v) for (_, defect), v in cells.items() if defect == wanted]))
        for wanted in defects
    }


def _row(found: Gain, cells: int) -> Row:
    low, high = found.interval
    spans = {"mean": found.mean, "low": low, "high": high, "worst": found.worst}
    return {"arm": found.score, "cells": cells, **spans, "qualifies": found.qualifies}


def _sentences(
    judged: Sequence[Gain], areas: Mapping[str, Mapping[tuple[str, str], float]], folder: Path
) -> str:
    helps = [one.score for one in judged if one.qualifies]
    detects = [
        one.score
        for one in judged
        if not one.qualifies and np.nanmean(list(areas[one.score].values())) > DETECTS
    ]
    seconds = {row["score_name"]: row["seconds"] for row in read_table(folder / "seconds.csv")}
    chosen = default_score(judged, seconds, OTHERWISE)
    return (
        f"Help the policy: {', '.join(helps) or 'none was shown to'}. "
        f"Detect, do not help: {', '.join(detects) or 'none'}. "
        f"Default of `curate --by` without rewards: {chosen}.\n"
    )
