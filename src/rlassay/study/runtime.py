"""Run time: scoring against training each agent on the same machine, and how little data and training is enough."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.study.cells import Report
from rlassay.study.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.plan import AGENTS, PANELS, Profile

FULL_UPDATES = 1_000_000  # of one trained policy, the paper's budget
PROBE_UPDATES = 2_000  # measured, after a warm-up of as many
DATASET = "medium-expert"
TRANSITIONS = (1_000, 3_000, 10_000, 30_000, 100_000)
CRITIC_STEPS = (300, 1_000, 3_000, 10_000)
TIME_COLUMNS = (
    "what",
    "seconds",
    "milliseconds_per_update",
    "seconds_for_full_budget",
    "times_scoring",
)
GROWTH_COLUMNS = ("transitions", "critic_steps", "environment", "score_name", "pearson_with_full", "datasets", "seconds")  # fmt: skip


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Measure; not resumable piece by piece, it takes minutes. Wants an otherwise idle machine."""
    from rlassay.study.data import study_data
    from rlassay.study.table1 import available

    environment = available(zoo)[0]
    data = study_data(environment, PANELS["all"], profile, zoo)
    about = {"command": f"rlassay study runtime --profile {profile.name} --run", "profile": profile.name, "complete": True}  # fmt: skip
    rows = time_rows(environment, data[DATASET].path, report)
    write_table(
        results / "runtime" / "times.csv", rows, TIME_COLUMNS, {**about, "environment": environment}
    )
    growth = growth_rows(environment, {name: each.path for name, each in data.items()}, report)
    write_table(results / "runtime" / "growth.csv", growth, GROWTH_COLUMNS, about)
    return []


def time_rows(environment: str, path: Path, report: Report) -> list[Row]:
    """Seconds of `score` (cold and warm), and of an update of each agent with the official sizes."""
    rows = []
    for what in ("score, first call", "score, second call"):
        rows.append({"what": what, "seconds": _scoring_seconds(path, None, {})})
        report(f"{what}: {rows[-1]['seconds']:.1f} s")
    only = _scoring_seconds(path, ["bwd.exact", "bwd.tail", "q"], {})
    rows.append({"what": "score of q, bwd.exact and bwd.tail only", "seconds": only})
    for agent in AGENTS:
        each = _update_seconds(agent, environment, path)
        full = each * FULL_UPDATES
        rows.append(
            {
                "what": f"training {agent}, {FULL_UPDATES:,} updates (extrapolated)",
                "milliseconds_per_update": 1e3 * each,
                "seconds_for_full_budget": full,
                "times_scoring": full / rows[0]["seconds"],
            }
        )
        report(f"{agent}: {1e3 * each:.2f} ms an update")
    return rows


def _scoring_seconds(
    path: Path, scores: Sequence[str] | None, settings: Mapping[str, Any]
) -> float:
    from rlassay.assay import score

    started = time.perf_counter()
    score(path, scores=scores, settings=settings)
    return time.perf_counter() - started


def _update_seconds(agent: str, environment: str, path: Path) -> float:
    """Seconds of an update with the paper's settings: the difference of two budgets takes compilation out."""
    import tempfile

    from rlassay.agents import train_agent
    from rlassay.io import load

    data, seconds = load(path), []
    for updates in (PROBE_UPDATES, 2 * PROBE_UPDATES):
        with tempfile.TemporaryDirectory() as folder:
            changes = {"updates": updates, "eval_every": 10 * PROBE_UPDATES, "eval_episodes": 1}
            started = time.perf_counter()
            train_agent(agent, data, environment, folder=folder, settings=changes)
            seconds.append(time.perf_counter() - started)
    return max(seconds[1] - seconds[0], 1e-9) / PROBE_UPDATES


def growth_rows(environment: str, paths: Mapping[str, Path], report: Report) -> list[Row]:
    """How the order of the datasets by a cut-down score agrees with that by the full one."""
    from rlassay.io import load

    names = ("q", "bwd.exact")
    datasets = {name: load(path) for name, path in paths.items()}
    full = _values(datasets, names, {})
    rows = []
    cuts = [(n, 10_000) for n in TRANSITIONS] + [(100_000, steps) for steps in CRITIC_STEPS[:-1]]
    for transitions, steps in cuts:
        started = time.perf_counter()
        part = {name: _first_rows(data, transitions) for name, data in datasets.items()}
        found = _values(part, names, {"critic.steps": steps, "critic.refresh": min(2_000, steps)})
        seconds = (time.perf_counter() - started) / len(datasets)
        for name in names:
            agreement = float(np.corrcoef(found[name], full[name])[0, 1])
            rows.append(
                {
                    "transitions": transitions, "critic_steps": steps, "environment": environment, "score_name": name,
                    "pearson_with_full": agreement, "datasets": len(datasets), "seconds": seconds,
                }
            )  # fmt: skip
        report(f"{transitions:,} transitions, {steps:,} critic steps: {seconds:.1f} s a dataset")
    return rows


def _values(datasets: Mapping[str, Any], names: Sequence[str], settings: Mapping[str, Any]) -> dict[str, list[float]]:  # fmt: skip
    from rlassay.assay import score

    cards = [
        score(data, scores=list(names), settings=settings, seed=1) for data in datasets.values()
    ]
    return {name: [card[name].value for card in cards] for name in names}


def _first_rows(data: Any, transitions: int) -> Any:
    """Whole episodes, spread over the file, with about so many rows."""
    from rlassay.collect.graded import thin_episodes

    return thin_episodes(data, transitions)


def render(results: Path) -> str:
    """The measured times as Markdown."""
    folder = results / "runtime"
    text = markdown_table(read_table(folder / "times.csv"), TIME_COLUMNS)
    text += "\n### How little is enough\n\n" + markdown_table(
        read_table(folder / "growth.csv"), GROWTH_COLUMNS
    )
    from rlassay.engine.files import write_atomically

    write_atomically(folder / "table.md", text)
    return text


def complete(results: Path) -> bool:
    return bool(read_about(results / "runtime" / "times.csv").get("complete"))
