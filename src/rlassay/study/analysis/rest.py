"""Has training come to rest? Every run by the evaluations of its final phase (rule 3 in docs/study.md, rule 7 in docs/long-oracle.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlassay.study.grid.files import Row

LARGEST_DRIFT = 5.0  # points over the final phase that a settled run may still move
CLONING_SHARE = {
    "onestep": 0.8
}  # its `critic_share`: of the updates, before the policy is improved at all
FINAL_SHARE = 1 / 3  # of the updates: the final phase of the other agents
EARLY, LATE = (60_000, 80_000), (130_000, 150_000)
RunKey = tuple[str, str, str, int]


def curves_by_run(curves: Sequence[Row]) -> dict[RunKey, list[tuple[float, float]]]:
    """(updates, score) of every run, in order."""
    found: dict[RunKey, list[tuple[float, float]]] = {}
    for row in curves:
        if row["score"] is not None:
            found.setdefault(run_key(row), []).append((row["updates"], row["score"]))
    return {key: sorted(points) for key, points in found.items()}


def rest_rows(curves: Sequence[Row]) -> list[Row]:
    """One row a run: its level in the middle and at the end, its drift in the final phase, and what that means."""
    rows = []
    for (environment, dataset, agent, seed), points in curves_by_run(curves).items():
        row: Row = {"environment": environment, "dataset": dataset, "agent": agent, "seed": seed}
        row |= {"early": level(points, EARLY), "late": level(points, LATE)}
        rows.append(row | final_drift(agent, points))
    return rows


def level(points: Sequence[tuple[float, float]], between: tuple[float, float]) -> float | None:
    """Mean of the evaluations within a range of updates."""
    values = [score for updates, score in points if between[0] <= updates <= between[1]]
    return float(np.mean(values)) if values else None


def final_drift(agent: str, points: Sequence[tuple[float, float]]) -> Row:
    """Slope times length of the final phase, its standard error, and the verdict."""
    last = points[-1][0]
    start = last * CLONING_SHARE.get(agent, 1 - FINAL_SHARE)
    phase = np.array([point for point in points if point[0] > start])
    if len(phase) < 2:
        return {"drift": None, "drift_error": None, "settled": "not known"}
    length = phase[-1, 0] - phase[0, 0]
    slope, error = line_through(phase[:, 0], phase[:, 1])
    drift, spread = slope * length, None if error is None else error * length
    still = abs(drift) < LARGEST_DRIFT or (spread is not None and abs(drift) <= 2 * spread)
    return {"drift": drift, "drift_error": spread, "settled": "yes" if still else "no"}


def line_through(x: np.ndarray, y: np.ndarray) -> tuple[float, float | None]:
    """Least-squares slope and its standard error; none with two points."""
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    if len(x) < 3:
        return slope, None
    left = y - y.mean() - slope * centred
    return slope, float(np.sqrt(left @ left / (len(x) - 2) / (centred @ centred)))


def settled_runs(runs: Sequence[Row], curves: Sequence[Row]) -> list[str]:
    """`yes`, `no` or `not known` for every run, by its final phase; a run that diverged is not settled."""
    known = curves_by_run(curves)
    return [
        "no"
        if run.get("diverged_at") is not None
        else _settled(run["agent"], known.get(run_key(run), []))
        for run in runs
    ]


def _settled(agent: str, points: Sequence[tuple[float, float]]) -> str:
    return final_drift(agent, points)["settled"] if points else "not known"


def run_key(row: Row) -> RunKey:
    """What tells runs apart."""
    return row["environment"], row["dataset"], row["agent"], int(row["seed"])


def rest_summary(rows: Sequence[Row]) -> list[Row]:
    """Per agent: how the middle and the end agree over datasets, and which runs still rise."""
    found = []
    for agent in dict.fromkeys(row["agent"] for row in rows):
        mine = [
            row
            for row in rows
            if row["agent"] == agent and row["early"] is not None and row["late"] is not None
        ]
        early, late = (np.array([row[name] for row in mine]) for name in ("early", "late"))
        if len(mine) < 3:
            continue
        found.append(
            {
                "agent": agent,
                "runs": len(mine),
                "pearson": float(np.corrcoef(early, late)[0, 1]),
                "mean_change": float((late - early).mean()),
                "mean_absolute_change": float(np.abs(late - early).mean()),
                "settled": sum(row["settled"] == "yes" for row in mine),
                "still_rising": sum(row["settled"] == "no" and row["drift"] > 0 for row in mine),
                "still_falling": sum(row["settled"] == "no" and row["drift"] < 0 for row in mine),
            }
        )
    return found
