"""Run time: scoring against training each agent on the same machine, and how little data and training is enough."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.study.analysis.correlate import oracle_table
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, PANELS, Profile

FULL_UPDATES = 1_000_000  # of one trained policy, the paper's budget
PROBE_UPDATES = 2_000  # measured, after a warm-up of as many
DATASET = "medium-expert"
TRANSITIONS = (1_000, 3_000, 10_000, 30_000)
CRITIC_STEPS = (300, 1_000, 3_000)
FULL = (100_000, 10_000)  # transitions and critic steps
CUTS = (*((n, FULL[1]) for n in TRANSITIONS), *((FULL[0], steps) for steps in CRITIC_STEPS), FULL)
TIME_COLUMNS = (
    "what",
    "seconds",
    "milliseconds_per_update",
    "seconds_for_full_budget",
    "times_scoring",
)
GROWTH_SCORES = ("q", "bwd.exact")
GROWTH_COLUMNS = ("environment", "dataset", "transitions", "critic_steps", "score_name", "value", "seconds")  # fmt: skip
OTHERS = {"full": "the full score", "oracle": "the oracle"}  # a cut-down score beside these
AGREEMENT_COLUMNS = (
    "transitions", "critic_steps", "score_name", "pearson_with_full", "pearson_with_oracle", "seconds",
)  # fmt: skip


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Measure; not resumable piece by piece, it takes minutes. Wants an otherwise idle machine."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe

    environment = available(zoo)[0]
    data = study_data(environment, PANELS["all"], profile, zoo, report)
    about = {**describe("runtime", profile), "complete": True}
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
        report(f"{agent}: timing {3 * PROBE_UPDATES:,} updates (minutes for the slow agents) ...")
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
    from rlassay.formats import load

    data, seconds = load(path), []
    for updates in (PROBE_UPDATES, 2 * PROBE_UPDATES):
        with tempfile.TemporaryDirectory() as folder:
            changes = {"updates": updates, "eval_every": 10 * PROBE_UPDATES, "eval_episodes": 1}
            started = time.perf_counter()
            train_agent(agent, data, environment, folder=folder, settings=changes)
            seconds.append(time.perf_counter() - started)
    return max(seconds[1] - seconds[0], 1e-9) / PROBE_UPDATES


def growth_rows(environment: str, paths: Mapping[str, Path], report: Report) -> list[Row]:
    """Scores of every dataset with fewer transitions or a shorter critic; the last row of each is the full one."""
    from rlassay.assay import score
    from rlassay.formats import load

    datasets = {name: load(path) for name, path in paths.items()}
    rows = []
    for transitions, steps in CUTS:
        settings = {"critic.steps": steps, "critic.refresh": min(2_000, steps)}
        for name, data in datasets.items():
            started = time.perf_counter()
            part = _first_rows(data, transitions)
            card = score(part, scores=list(GROWTH_SCORES), settings=settings, seed=1)
            seconds = time.perf_counter() - started
            cut = {"transitions": transitions, "critic_steps": steps, "environment": environment, "dataset": name}  # fmt: skip
            rows += [
                {**cut, "score_name": each, "value": card[each].value, "seconds": seconds}
                for each in GROWTH_SCORES
            ]
        report(f"{transitions:,} transitions, {steps:,} critic steps: done")
    return rows


def agreement_rows(growth: Sequence[Row], oracle: Mapping[tuple[str, str], float]) -> list[Row]:
    """Correlation of every cut-down score with the full one, and with the oracle where that is known."""
    values: dict[tuple, dict[tuple[str, str], Row]] = {}
    for row in growth:
        cut = (int(row["transitions"]), int(row["critic_steps"]), row["score_name"])
        values.setdefault(cut, {})[row["environment"], row["dataset"]] = row
    rows = []
    for (transitions, steps, name), found in values.items():
        full = values[*FULL, name]
        rows.append(
            {
                "transitions": transitions,
                "critic_steps": steps,
                "score_name": name,
                "pearson_with_full": _pearson(found, {k: row["value"] for k, row in full.items()}),
                "pearson_with_oracle": _pearson(found, oracle),
                "seconds": float(np.mean([row["seconds"] for row in found.values()])),
            }
        )
    return rows


def _pearson(
    found: Mapping[tuple[str, str], Row], other: Mapping[tuple[str, str], float]
) -> float | None:
    """Over the datasets that both know; fewer than three say nothing."""
    keys = [key for key in found if key in other]
    if len(keys) < 3:
        return None
    values = [found[key]["value"] for key in keys], [other[key] for key in keys]
    return float(np.corrcoef(*values)[0, 1])


def _first_rows(data: Any, transitions: int) -> Any:
    """Whole episodes, spread over the file, with about so many rows."""
    from rlassay.collect.graded import thin_episodes

    return thin_episodes(data, transitions)


def render(results: Path) -> str:
    """The measured times and what smaller scores are worth, as Markdown, CSV and figure."""
    folder = results / "runtime"
    text = markdown_table(read_table(folder / "times.csv"), TIME_COLUMNS)
    runs = results / "table1" / "runs.csv"
    oracle = oracle_table(read_table(runs), AGENTS) if runs.exists() else {}
    agreement = agreement_rows(read_table(folder / "growth.csv"), oracle)
    about = {
        "command": "rlassay study runtime",
        "complete": read_about(folder / "growth.csv").get("complete"),
    }
    write_table(folder / "agreement.csv", agreement, AGREEMENT_COLUMNS, about)
    text += "\n### How little is enough\n\n" + markdown_table(agreement, AGREEMENT_COLUMNS)
    _draw(agreement, folder / "figure.svg")
    from rlassay.engine.files import write_atomically

    write_atomically(folder / "table.md", text)
    return text


def _draw(agreement: Sequence[Row], path: Path) -> None:
    """Correlations by the transitions used with a full critic, and by critic steps on all transitions."""
    from rlassay.study.figures import draw_lines

    panels = {
        f"transitions ({FULL[1]:,} critic steps)": ("transitions", "critic_steps", FULL[1]),
        f"critic steps ({FULL[0]:,} transitions)": ("critic_steps", "transitions", FULL[0]),
    }
    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, (varied, fixed, value) in panels.items():
        lines = series.setdefault(title, {})
        for row in agreement:
            for other in OTHERS:
                if row[fixed] == value and row[f"pearson_with_{other}"] is not None:
                    line = lines.setdefault(f"{row['score_name']} with {OTHERS[other]}", [])
                    line.append((row[varied], row[f"pearson_with_{other}"]))
    draw_lines(
        series,
        path,
        xlabel="number used (logarithmic)",
        ylabel="Pearson over the datasets",
        log=True,
    )


def complete(results: Path) -> bool:
    return bool(read_about(results / "runtime" / "times.csv").get("complete"))
