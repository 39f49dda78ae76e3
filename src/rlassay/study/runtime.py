"""Run time: scoring against training each agent on the same machine, and how little data and training is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.scoring.registry import ALL
from rlassay.study.analysis.correlate import oracle_table
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, PANELS, Profile
from rlassay.study.timing import scoring_seconds, update_seconds

REVISION = 2  # of the measurement: rows of another one are measured again
FULL_UPDATES = 1_000_000  # of one trained policy, the paper's budget
DATASET = "medium-expert"
TRANSITIONS = (1_000, 3_000, 10_000, 30_000)
CRITIC_STEPS = (300, 1_000, 3_000)
FULL = (100_000, 10_000)  # transitions and critic steps
CUTS = (*((n, FULL[1]) for n in TRANSITIONS), *((FULL[0], steps) for steps in CRITIC_STEPS), FULL)
FIRST, SECOND = "all scores, first call", "all scores, second call"
SCORINGS: Mapping[str, str | Sequence[str] | None] = {
    FIRST: ALL,
    SECOND: ALL,
    "what `score` computes unasked": None,
    "q, bwd.exact and bwd.tail": ("bwd.exact", "bwd.tail", "q"),
}
TIME_COLUMNS = (
    "environment",
    "what",
    "seconds",
    "milliseconds_per_update",
    "seconds_for_full_budget",
    "times_scoring",
)
GROWTH_SCORES = ("q", "bwd.exact")
GROWTH_COLUMNS = (
    "environment",
    "dataset",
    "transitions",
    "critic_steps",
    "score_name",
    "value",
    "seconds",
)
OTHERS = {"full": "the full score", "oracle": "the oracle"}  # a cut-down score beside these
AGREEMENT_COLUMNS = (
    "transitions",
    "critic_steps",
    "score_name",
    "pearson_with_full",
    "pearson_with_oracle",
    "seconds",
)


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Measure what is missing; every measurement is kept as soon as it is made. Wants an otherwise idle machine."""
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.running import available, describe

    folder, about = results / "runtime", describe("runtime", profile)
    known = available(zoo)
    paths = {
        environment: study_data(environment, [DATASET], profile, zoo, report)[DATASET].path
        for environment in known
    }
    run_times(folder / "times.csv", paths, about, report)
    if not read_about(folder / "growth.csv").get("complete"):
        data = study_data(known[0], PANELS["all"], profile, zoo, report)
        growth = growth_rows(known[0], {name: each.path for name, each in data.items()}, report)
        write_table(folder / "growth.csv", growth, GROWTH_COLUMNS, {**about, "complete": True})
    return []


# -- seconds ---------------------------------------------------------------------------------------------------------


def run_times(table: Path, paths: Mapping[str, Path], about: Row, report: Report) -> None:
    """Every scoring and every agent of every environment; the table grows with each, and a second start goes on."""
    kept = read_table(table, checked=False) if table.exists() else []
    rows = [row for row in kept if row.get("revision") == REVISION]
    done = {(row["environment"], row["what"]) for row in rows}
    asked = [
        (environment, what, measure)
        for environment, path in paths.items()
        for what, measure in measurements(environment, path).items()
    ]
    for k, (environment, what, measure) in enumerate(asked, 1):
        if (environment, what) in done:
            continue
        report(f"{k} of {len(asked)}: {environment}, {what} ...")
        row = {"environment": environment, "what": what, **measure(), "revision": REVISION}
        rows.append(row)
        report(f"{k} of {len(asked)}: {environment}, {what}: {_news(row)}")
        found = {(row["environment"], row["what"]): row for row in rows}
        missing = [f"{e}, {w}" for e, w, _ in asked if (e, w) not in found]
        in_order = [found[e, w] for e, w, _ in asked if (e, w) in found]
        described = {**about, "complete": not missing, "missing": missing}
        write_table(table, with_ratios(in_order), (*TIME_COLUMNS, "revision"), described)


def measurements(environment: str, path: Path) -> dict[str, Callable[[], Row]]:
    """What is timed in an environment, by name: scorings first, because training is compared with them."""
    found: dict[str, Callable[[], Row]] = {
        what: lambda what=what, names=names: {
            "seconds": scoring_seconds(path, names, again=what == SECOND)
        }
        for what, names in SCORINGS.items()
    }
    for agent in AGENTS:
        found[f"training {agent}"] = lambda agent=agent: {
            "milliseconds_per_update": 1e3 * update_seconds(agent, environment, path)
        }
    return found


def with_ratios(rows: Sequence[Row]) -> list[Row]:
    """Training in full, and how many scorings of all scores it costs, first call and compilation included."""
    scoring = {row["environment"]: row["seconds"] for row in rows if row["what"] == FIRST}
    return [row if row.get("seconds") is not None else row | _in_full(row, scoring) for row in rows]


def _in_full(row: Row, scoring: Mapping[str, float]) -> Row:
    full = row["milliseconds_per_update"] / 1e3 * FULL_UPDATES
    once = scoring.get(row["environment"])
    return {"seconds_for_full_budget": full, "times_scoring": full / once if once else None}


def _news(row: Row) -> str:
    if row.get("seconds") is not None:
        return f"{row['seconds']:.1f} s"
    return f"{row['milliseconds_per_update']:.2f} ms an update"


# -- how little is enough --------------------------------------------------------------------------------------------


def growth_rows(environment: str, paths: Mapping[str, Path], report: Report) -> list[Row]:
    """Scores of every dataset with fewer transitions or a shorter critic; the last row of each is the full one."""
    from rlassay.formats import load

    datasets = {name: load(path) for name, path in paths.items()}
    rows = []
    for transitions, steps in CUTS:
        for name, data in datasets.items():
            cut = {
                "transitions": transitions,
                "critic_steps": steps,
                "environment": environment,
                "dataset": name,
            }
            rows += [{**cut, **found} for found in _cut_scores(data, transitions, steps)]
        report(f"{transitions:,} transitions, {steps:,} critic steps: done")
    return rows


def _cut_scores(data: Any, transitions: int, steps: int) -> list[Row]:
    """Scores from whole episodes, spread over the file, with about so many rows."""
    import time

    import rlassay
    from rlassay.collect.graded import thin_episodes

    settings = {"critic.steps": steps, "critic.refresh": min(2_000, steps)}
    started = time.perf_counter()
    part = thin_episodes(data, transitions)
    card = rlassay.score(part, scores=list(GROWTH_SCORES), settings=settings, seed=1)
    seconds = time.perf_counter() - started
    return [
        {"score_name": each, "value": card[each].value, "seconds": seconds}
        for each in GROWTH_SCORES
    ]


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


# -- rendering -------------------------------------------------------------------------------------------------------


def render(results: Path) -> str:
    """The measured times and what smaller scores are worth, as Markdown, CSV and figure."""
    folder = results / "runtime"
    times = read_table(folder / "times.csv")
    columns = [name for name in TIME_COLUMNS if any(row.get(name) is not None for row in times)]
    text = markdown_table(times, columns)
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
