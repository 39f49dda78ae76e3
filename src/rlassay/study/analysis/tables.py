"""The correlations of Figure 2 as tables to read: one row a score, the best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rlassay.study.analysis.correlate import BASELINES, POOLED, RAW
from rlassay.study.grid.files import Row, markdown_table
from rlassay.study.grid.plan import PANELS

CEILING = "*noise ceiling*"
Pick = Callable[[str], str]  # the text of a column for a score


class Correlations:
    """Rows of `correlations.csv`, found by what they are of."""

    def __init__(self, rows: Sequence[Row], ceilings: Sequence[Row] = ()):
        self._ceilings = {(row["panel"], row["scope"]): row["ceiling"] for row in ceilings}
        self._rows = {
            (row["panel"], row["scope"], row["kind"], row["score_name"]): row for row in rows
        }
        self.panels = list(dict.fromkeys(row["panel"] for row in rows))
        self.environments = sorted({row["scope"] for row in rows} - {POOLED, RAW})

    def scores(self, of_discount: bool) -> list[str]:
        """Scores of the widest scope there is, best first; those rescored at another discount stand apart."""
        scope = POOLED if any(key[1] == POOLED for key in self._rows) else self.environments[0]
        whole = "all" if "all" in self.panels else self.panels[0]
        found = {
            key[3]: row["value"]
            for key, row in self._rows.items()
            if key[1:3] == (scope, "pearson") and key[0] == whole and ("@" in key[3]) == of_discount
        }
        return sorted(found, key=lambda name: -(found[name] if found[name] is not None else -2))

    def row(self, panel: str, scope: str, kind: str, score: str) -> Row:
        """What is known of one score; empty if nothing is."""
        if score == CEILING:
            return {"value": self._ceilings.get((panel, scope)) if kind == "pearson" else None}
        return self._rows.get((panel, scope, kind, score), {})

    def pick(self, panel: str, scope: str, kind: str = "pearson", prefix: str = "") -> Pick:
        return lambda score: with_interval(self.row(panel, scope, kind, score), prefix)

    def count(self, panel: str, scope: str) -> int:
        return max(
            (int(r["n"]) for k, r in self._rows.items() if k[:2] == (panel, scope)), default=0
        )


def with_interval(row: Row, prefix: str = "") -> str:
    """`0.94 [0.78, 1.00]`; empty where there is no value."""
    value, low, high = (row.get(f"{prefix}{name}") for name in ("value", "low", "high"))
    if value is None:
        return ""
    return f"{value:.2f}" + ("" if low is None else f" [{low:.2f}, {high:.2f}]")


def one_row_a_score(rows: Sequence[Row], column: str, base: str) -> list[Row]:
    """Correlations side by side: for every value of `column` one cell and one with the difference to `base`.

    The best score by the mean over the columns comes first.
    """
    found: dict[str, Row] = {}
    values: dict[str, list[float]] = {}
    for row in rows:
        name = row["score_name"]
        mine = found.setdefault(name, {"score": name})
        mine[row[column]] = with_interval(row)
        mine[f"{row[column]}, minus {base}"] = with_interval(row, f"minus_{base}_")
        values.setdefault(name, []).append(-2.0 if row["value"] is None else row["value"])
    order = sorted(found, key=lambda name: -sum(values[name]) / len(values[name]))
    return [found[name] for name in order]


def correlation_tables(rows: Sequence[Row], ceilings: Sequence[Row] = ()) -> str:
    """Panels pooled over environments, each environment, other kinds and oracles, other discounts; as Markdown.

    The last row of each table is the ceiling that the oracle's noise sets, where it is known.
    """
    found = Correlations(rows, ceilings)
    plain, rescored = found.scores(of_discount=False), found.scores(of_discount=True)
    panels = {
        f"{panel} (n = {found.count(panel, POOLED)})": found.pick(panel, POOLED)
        for panel in PANELS
        if found.count(panel, POOLED)
    }
    gains = {
        f"{panel}, minus {name}": found.pick(panel, POOLED, prefix=f"minus_{name}_")
        for panel in ("mixtures", "all")  # the claim rests on the mixtures
        if found.count(panel, POOLED)
        for name in BASELINES
    }
    alone = {
        f"{env} (n = {found.count('all', env)})": found.pick("all", env)
        for env in found.environments
    }
    kinds = {kind.capitalize(): found.pick("all", POOLED, kind) for kind in ("spearman", "kendall")}
    others = {
        panel: found.pick(panel, POOLED) for panel in found.panels if panel not in PANELS
    }  # made with another oracle
    text = ""
    if panels:
        text += _section(
            "Pearson with the oracle, scores and oracle min-max scaled within environments",
            plain,
            panels | gains,
        )
    text += _section("Pearson within each environment", plain, alone)
    if panels:
        raw = {"Pearson, oracle not scaled": found.pick("all", RAW)}
        text += _section(
            "All datasets: other correlations and oracles", plain, kinds | raw | others
        )
        text += _section("Value scores at other discounts", rescored, panels | gains)
    return text


def printed_table(rows: Sequence[Row]) -> str:
    """The paper's own table by the same method, as Markdown."""
    found = Correlations(rows)
    columns = {
        f"{env} (n = {found.count(found.panels[0], env)})": found.pick(found.panels[0], env)
        for env in found.environments
    }
    columns |= {
        f"pooled (n = {found.count(found.panels[0], POOLED)})": found.pick(found.panels[0], POOLED),
        "pooled, minus q": found.pick(found.panels[0], POOLED, prefix="minus_q_"),
    }
    return _section(
        "The paper's printed rows, by the same method", found.scores(of_discount=False), columns
    )


def table_of_scores(scores: Sequence[str], columns: Mapping[str, Pick]) -> str:
    """One row a score and, where it is known, the ceiling; as Markdown."""
    rows = [
        {"score": name} | {head: pick(name) for head, pick in columns.items()}
        for name in (*scores, CEILING)
    ]
    if not any(cell for head, cell in rows[-1].items() if head != "score"):
        rows.pop()
    return markdown_table(rows, ["score", *columns])


def _section(title: str, scores: Sequence[str], columns: Mapping[str, Pick]) -> str:
    return f"\n### {title}\n\n" + table_of_scores(scores, columns) if scores else ""
