"""Figure 2: how well each score predicts the oracle, from the committed raw results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rlassay.errors import DatasetError
from rlassay.scores import SCORES
from rlassay.study.analysis.budget import (
    LEARNT,
    SETTLED,
    expert_rows,
    half_rows,
    learning_agents,
    pattern_rows,
    settled_oracle,
)
from rlassay.study.grid.cells import read_runs
from rlassay.study.analysis.correlate import (
    Points,
    choose,
    complete_runs,
    correlation_columns,
    correlation_rows,
    leave_one_out,
    make_points,
    mean_over_agents,
    oracle_table,
)
from rlassay.study.analysis.tables import correlation_tables, printed_table
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.printed import printed_points
from rlassay.study.grid.plan import AGENTS, PANELS

# The rule of choice, written before any oracle was run: candidates from the simplest on; see docs/study.md.
CANDIDATES = ("bwd.exact", "bwd.tail", "bwd.sinkhorn", "bwd.dual")
SETTLED_PANEL = "all, settled runs only"
LEARNING_PANEL = "all, agents that learn only"
PATTERN_PANEL = "all, without medium-expert where D4RL's pattern fails"
COLUMNS = correlation_columns()


def render(results: Path) -> str:
    """Correlations of every panel as CSV, figure and Markdown."""
    source, folder = results / "table1", results / "fig2"
    runs = read_runs("table1", results)
    scores = read_table(source / "scores.csv")
    points = study_points(scores, runs, AGENTS)
    if len(points.y) == 0:
        raise DatasetError(
            "no dataset has a complete oracle yet", remedy="run `rlassay study table1 --run`"
        )
    rows = [
        row for panel, part in panel_points(points).items() for row in correlation_rows(part, panel)
    ]
    for panel, oracle in other_oracles(runs).items():
        part = join_scores(scores, oracle)
        rows += correlation_rows(part, panel) if len(part.y) >= 3 else []
    complete = bool(read_about(source / "runs.csv").get("complete"))
    about = {"command": "rlassay study fig2", "complete": complete, "datasets": len(points.y)}
    write_table(folder / "correlations.csv", rows, COLUMNS, about)
    chosen = choose(points, CANDIDATES)
    judged = leave_one_out(points, CANDIDATES) if len(np.unique(points.environments)) > 1 else []
    if judged:
        write_table(folder / "choice.csv", judged, list(judged[0]), {**about, "chosen": chosen})
    _draw(points, [row for row in rows if row["panel"] in PANELS], folder / "figure.svg")
    text = (
        f"{len(points.y)} datasets with a complete oracle. In brackets: 95 % bootstrap intervals.\n"
    )
    text += correlation_tables(rows) + _choice(judged, chosen) + _budget(folder, runs, about)
    text += _paper(folder)
    from rlassay.engine.files import write_atomically

    write_atomically(folder / "table.md", text)
    return text


def study_points(scores: Sequence[Row], runs: Sequence[Row], agents: Sequence[str]) -> Points:
    """Datasets whose oracle is complete, with every score at the default discount and the value scores at others."""
    return join_scores(scores, oracle_table(runs, agents))


def join_scores(scores: Sequence[Row], oracle: Mapping[tuple[str, str], float]) -> Points:
    """Scores beside a given oracle; a discount other than the default is part of the score's name."""
    named = []
    for row in scores:
        suffix = "" if row["discount"] == 0.99 else f"@{row['discount']:g}"
        if row["score_name"] is not None and row["score_name"] != "bwd":
            named.append({**row, "score_name": f"{row['score_name']}{suffix}"})
    signs = {name: -1 for name, spec in SCORES.items() if spec.direction == "lower"}
    signs |= {f"{name}@{d}": sign for name, sign in signs.items() for d in ("0.995", "0.999")}
    return make_points(named, oracle, signs)


def other_oracles(runs: Sequence[Row]) -> dict[str, dict[tuple[str, str], float]]:
    """The oracle without what may not deserve the name: runs that had not settled, agents that did not learn, mixtures
    from which value-based agents did not extract more than cloning."""
    oracles = {SETTLED_PANEL: settled_oracle(runs, AGENTS)}
    learning = learning_agents(runs, AGENTS)
    if len(learning) < len(AGENTS):
        kept = {
            key: mean_over_agents(found, learning)
            for key, found in complete_runs(runs, AGENTS).items()
        }
        oracles[LEARNING_PANEL] = kept
    failed = {(row["environment"], "medium-expert") for row in pattern_rows(runs) if row["as_in_d4rl"] == "no"}  # fmt: skip
    if failed:
        whole = oracle_table(runs, AGENTS)
        oracles[PATTERN_PANEL] = {key: value for key, value in whole.items() if key not in failed}
    return oracles


def panel_points(points: Points) -> dict[str, Points]:
    """The three panels and everything together; a panel with fewer than three datasets is left out."""
    parts = {
        name: points.restrict(np.isin(points.datasets, members)) for name, members in PANELS.items()
    }
    return {name: part for name, part in parts.items() if len(part.y) >= 3}


def _choice(judged: Sequence[Row], chosen: str) -> str:
    text = f"\n### Choice of the default\n\nChosen on all environments: `{chosen}`. Chosen on the others, judged on the one left out:\n\n"
    return text + markdown_table(judged, list(judged[0])) if judged else ""


def _budget(folder: Path, runs: Sequence[Row], about: Row) -> str:
    """Whether the oracle was long enough, as CSV and Markdown."""
    halves, pattern = half_rows(runs, AGENTS), pattern_rows(runs)
    text = ""
    if halves:
        columns = list(halves[0])
        write_table(folder / "half_budget.csv", halves, columns, about)
        text += (
            "\n### The oracle at half and at full budget\n\nAgreement of the datasets' order; `unsettled` counts "
            f"runs that diverged or changed by more than {SETTLED:g} points in their second half.\n\n"
        )
        text += markdown_table(halves, columns)
    shares = expert_rows(runs, AGENTS)
    if shares:
        left_out = sorted(set(AGENTS) - set(learning_agents(runs, AGENTS)))
        said = f"Below {LEARNT:.0%} of it everywhere: {', '.join(left_out)}." if left_out else ""
        text += "\n### Agents on expert data\n\nScore as a share of BC's. " + said + "\n\n"
        text += markdown_table(shares, list(shares[0]))
    if pattern:
        text += "\n### D4RL's pattern on medium-expert\n\n" + markdown_table(
            pattern, list(pattern[0])
        )
    return text


def _paper(folder: Path) -> str:
    """The same correlations of the paper's printed rows, whose oracle and data are D4RL's."""
    rows = correlation_rows(printed_points(), "paper's Table 1")
    write_table(folder / "paper.csv", rows, COLUMNS, {"command": "rlassay study fig2", "complete": True})  # fmt: skip
    return printed_table(rows)


def _draw(points: Points, rows: Sequence[Row], path: Path) -> None:
    from rlassay.study.figures import draw_correlations

    draw_correlations(points, rows, path)
