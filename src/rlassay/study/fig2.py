"""Figure 2: how well each score predicts the oracle, from the committed raw results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError
from rlassay.study.analysis.budget import (
    LEARNT,
    MOVED,
    expert_rows,
    half_rows,
    learning_agents,
    oracle_by_first_rule,
    pattern_rows,
    settled_oracle,
)
from rlassay.study.analysis.correlate import (
    Points,
    choose,
    complete_runs,
    correlation_columns,
    correlation_rows,
    leave_one_out,
    mean_over_agents,
    oracle_table,
)
from rlassay.study.analysis.points import join_scores, panel_points, study_points
from rlassay.study.analysis.reliability import correlation_ceilings
from rlassay.study.analysis.rest import LARGEST_DRIFT
from rlassay.study.analysis.tables import correlation_tables, printed_table
from rlassay.study.figures import draw_correlations
from rlassay.study.grid.cells import read_runs
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import AGENTS, PANELS
from rlassay.study.printed import printed_points
from rlassay.study.side_by_side import beside_long

# The rule of choice, written before any oracle was run: candidates from the simplest on; see docs/study.md.
CANDIDATES = ("bwd.exact", "bwd.tail", "bwd.sinkhorn", "bwd.dual")
SETTLED_PANEL = "all, settled runs only"
FIRST_RULE_PANEL = "all, runs that moved little after half (first rule 3)"
LEARNING_PANEL = "all, agents that learn only"
PATTERN_PANEL = "all, without medium-expert where D4RL's pattern fails"
COLUMNS = correlation_columns()


@dataclass(frozen=True)
class Raw:
    """What the studies have measured with the lite oracle."""

    runs: Sequence[Row]
    curves: Sequence[Row]
    scores: Sequence[Row]
    points: Points

    @classmethod
    def read(cls, results: Path) -> Raw:
        source, runs = results / "table1", read_runs("table1", results)
        curves = source / "curves.csv"
        scores = read_table(source / "scores.csv")
        points = study_points(scores, runs, AGENTS)
        if len(points.y) == 0:
            raise DatasetError(
                "no dataset has a complete oracle yet", remedy="run `rlassay study table1 --run`"
            )
        return cls(runs, read_table(curves) if curves.exists() else [], scores, points)


def render(results: Path) -> str:
    """Correlations of every panel as CSV, figure and Markdown."""
    raw, folder = Raw.read(results), results / "fig2"
    complete = bool(read_about(results / "table1" / "runs.csv").get("complete"))
    count = len(raw.points.y)
    about = {"command": "rlassay study fig2", "complete": complete, "datasets": count}
    rows, ceilings = correlate(raw), ceilings_of(raw)
    write_table(folder / "correlations.csv", rows, COLUMNS, about)
    write_table(folder / "ceilings.csv", ceilings, list(ceilings[0]), about)
    shown = [row for row in rows if row["panel"] in PANELS]
    draw_correlations(raw.points, shown, folder / "figure.svg", ceilings)
    text = f"{count} datasets with a complete oracle. In brackets: 95 % bootstrap intervals. Last row of a table: the square root of the oracle's reliability over agents, which no score can be expected to exceed.\n"
    text += beside_long(results)
    text += correlation_tables(rows, ceilings) + _choice(folder, raw.points, about)
    text += _budget(folder, raw, about) + _paper(folder)
    write_atomically(folder / "table.md", text)
    return text


def correlate(raw: Raw) -> list[Row]:
    """Correlations of the panels, then again with the oracles that leave something out."""
    rows = [
        row
        for panel, part in panel_points(raw.points).items()
        for row in correlation_rows(part, panel)
    ]
    for panel, oracle in other_oracles(raw.runs, raw.curves).items():
        part = join_scores(raw.scores, oracle)
        rows += correlation_rows(part, panel) if len(part.y) >= 3 else []
    return rows


def ceilings_of(raw: Raw) -> list[Row]:
    """The noise ceiling of every panel, and without the agents that do not learn."""
    rows = [
        row
        for panel, part in panel_points(raw.points).items()
        for row in correlation_ceilings(part, raw.runs, AGENTS, panel)
    ]
    learning = learning_agents(raw.runs, AGENTS)
    if len(learning) < len(AGENTS):
        rows += correlation_ceilings(raw.points, raw.runs, learning, LEARNING_PANEL)
    return rows


def other_oracles(
    runs: Sequence[Row], curves: Sequence[Row]
) -> dict[str, dict[tuple[str, str], float]]:
    """The oracle without what may not deserve the name: runs that had not settled, agents that did not learn, mixtures
    from which value-based agents did not extract more than cloning."""
    oracles = {
        SETTLED_PANEL: settled_oracle(runs, curves, AGENTS),
        FIRST_RULE_PANEL: oracle_by_first_rule(runs, AGENTS),
    }
    learning = learning_agents(runs, AGENTS)
    if len(learning) < len(AGENTS):
        kept = {
            key: mean_over_agents(found, learning)
            for key, found in complete_runs(runs, AGENTS).items()
        }
        oracles[LEARNING_PANEL] = kept
    failed = {
        (row["environment"], "medium-expert")
        for row in pattern_rows(runs)
        if row["as_in_d4rl"] == "no"
    }
    if failed:
        whole = oracle_table(runs, AGENTS)
        oracles[PATTERN_PANEL] = {key: value for key, value in whole.items() if key not in failed}
    return oracles


def _choice(folder: Path, points: Points, about: Row) -> str:
    """The default of `bwd` by the stated rule, judged on the environment left out; as CSV and Markdown."""
    if len(np.unique(points.environments)) < 2:
        return ""
    chosen, judged = choose(points, CANDIDATES), leave_one_out(points, CANDIDATES)
    write_table(folder / "choice.csv", judged, list(judged[0]), {**about, "chosen": chosen})
    text = f"\n### Choice of the default\n\nChosen on all environments: `{chosen}`. Chosen on the others, judged on the one left out:\n\n"
    return text + markdown_table(judged, list(judged[0]))


def _budget(folder: Path, raw: Raw, about: Row) -> str:
    """Whether the oracle was long enough, as CSV and Markdown."""
    halves, pattern = half_rows(raw.runs, AGENTS, raw.curves), pattern_rows(raw.runs)
    text = ""
    if halves:
        columns = list(halves[0])
        write_table(folder / "half_budget.csv", halves, columns, about)
        text += f"\n### The oracle at half and at full budget\n\nAgreement of the datasets' order. By the evaluations of its final phase (the last third; OnestepRL: after `critic_share`) a run is settled or, having drifted by {LARGEST_DRIFT:g} points or more or diverged, still moving; with fewer than two evaluations there it is not known. `moved_after_half`: the first rule 3, more than {MOVED:g} points in the second half.\n\n"
        text += markdown_table(halves, columns)
    text += _expert(raw.runs)
    if pattern:
        text += "\n### D4RL's pattern on medium-expert\n\n"
        text += markdown_table(pattern, list(pattern[0]))
    return text


def _expert(runs: Sequence[Row]) -> str:
    """Which agents learn at all."""
    shares = expert_rows(runs, AGENTS)
    if not shares:
        return ""
    left_out = sorted(set(AGENTS) - set(learning_agents(runs, AGENTS)))
    said = f"Below {LEARNT:.0%} of it everywhere: {', '.join(left_out)}." if left_out else ""
    text = "\n### Agents on expert data\n\nScore as a share of BC's. " + said + "\n\n"
    return text + markdown_table(shares, list(shares[0]))


def _paper(folder: Path) -> str:
    """The same correlations of the paper's printed rows, whose oracle and data are D4RL's."""
    rows = correlation_rows(printed_points(), "paper's Table 1")
    about = {"command": "rlassay study fig2", "complete": True}
    write_table(folder / "paper.csv", rows, COLUMNS, about)
    return printed_table(rows)
