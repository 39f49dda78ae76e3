"""Figures of the studies with matplotlib: axes, units and a legend on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.files import replacing
from rlassay.errors import SettingsError
from rlassay.study.analysis.correlate import POOLED, Points, min_max
from rlassay.study.analysis.questions import FORECASTS
from rlassay.study.grid.files import Row

TRANSPORT, OTHER = "#b45309", "#1f5f8b"  # colours of bars
BESIDE: dict[str, Any] = {
    "fontsize": 7,
    "loc": "upper left",
    "bbox_to_anchor": (1, 1),
}  # a legend outside the axes, where lines cross everywhere inside
PANEL_TITLES = {
    "levels": "(a) levels of training",
    "splits": "(b) D4RL's splits",
    "mixtures": "(c) mixtures of policies",
    "all": "all datasets",
    "fresh": "fresh mixtures",
    "together": "first and fresh mixtures",
}


@contextmanager
def saving(path: Path, columns: int, width: float = 4.2, height: float = 3.6, rows: int = 1):
    """A row of axes, or a grid of them, written as SVG when the block ends."""
    try:
        import matplotlib
    except ImportError:
        raise SettingsError(
            "figures need matplotlib", remedy="install it with `pip install 'rl-assay[plot]'`"
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    yield axes[0] if rows == 1 else axes
    figure.tight_layout()
    # without a fixed salt the same figure gets new ids at every drawing, and a diff where nothing changed
    with replacing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    plt.close(figure)


def draw_correlations(
    points: Points, rows: Sequence[Row], path: Path, ceilings: Sequence[Row] = ()
) -> None:
    """A bar a score and panel: pooled Pearson with its interval; last, the oracle against the two plain baselines."""
    chosen = [r for r in rows if r["scope"] == POOLED and r["kind"] == "pearson"]
    panels = list(dict.fromkeys(row["panel"] for row in chosen))
    with saving(path, len(panels) + 1, width=4.6, height=6.5) as axes:
        for axis, panel in zip(axes, panels, strict=False):
            _bars(axis, [row for row in chosen if row["panel"] == panel], PANEL_TITLES[panel])
            _ceiling_line(axis, ceilings, panel)
        _colour_legend(axes[0])
        _scatter(axes[-1], points)


def _bars(axis: Any, rows: Sequence[Row], title: str) -> None:
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    y = np.arange(len(known))
    values = np.array([row["value"] for row in known])
    low = np.array([row["low"] if row["low"] is not None else row["value"] for row in known])
    high = np.array([row["high"] if row["high"] is not None else row["value"] for row in known])
    colours = [TRANSPORT if row["score_name"].startswith("bwd") else OTHER for row in known]
    axis.barh(y, values, color=colours)
    spread = np.abs([values - np.minimum(low, values), np.maximum(high, values) - values])
    axis.errorbar(values, y, xerr=spread, fmt="none", ecolor="black", lw=0.8, capsize=2)
    axis.set_yticks(y, [row["score_name"] for row in known], fontsize=7)
    axis.set(
        title=f"{title} (n = {known[0]['n'] if known else 0})",
        xlabel="Pearson with the oracle",
        xlim=(-1, 1),
    )
    axis.set_xticks((-1, -0.5, 0, 0.5, 1))
    axis.axvline(0, color="black", lw=0.6)


def _ceiling_line(axis: Any, ceilings: Sequence[Row], panel: str) -> None:
    """Where the noise of the oracle ends what can be seen."""
    for row in ceilings:
        if (row["panel"], row["scope"]) == (panel, POOLED) and row["ceiling"] is not None:
            axis.axvline(row["ceiling"], color="black", lw=1, ls="--")
            axis.text(row["ceiling"], -0.9, "noise ceiling ", fontsize=6, ha="right")


def _colour_legend(axis: Any) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=TRANSPORT, label="transport distances"),
        Patch(color=OTHER, label="other scores"),
    ]
    axis.legend(
        handles=handles, fontsize=7, loc="upper left", title="95 % intervals", title_fontsize=7
    )


def _scatter(axis: Any, points: Points) -> None:
    for name, marker in (("return", "o"), ("return_by_step", "s"), ("q", "x"), ("bwd.exact", "^")):
        if name in points.x:
            x = min_max(points.x[name].mean(axis=1), points.environments)
            axis.plot(x, points.y, marker, ms=5, label=name)
    axis.set(
        title="oracle against scores",
        xlabel="score, min-max within the environment",
        ylabel="oracle (normalised return, 0 to 100)",
    )
    axis.legend(fontsize=8)


def draw_lines(
    series: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
    path: Path,
    *,
    xlabel: str,
    ylabel: str,
    ticks: Sequence[str] | None = None,
    log: bool = False,
) -> None:
    """One panel a key of `series`, one line a label; `log` is for the horizontal axis."""
    with saving(path, max(1, len(series)), width=5.8) as axes:
        for axis, (title, lines) in zip(axes, series.items(), strict=False):
            for label, points in lines.items():
                axis.plot(*zip(*points, strict=True), marker="o", ms=3, lw=1, label=label)
            axis.set(title=title, xlabel=xlabel, ylabel=ylabel, xscale="log" if log else "linear")
            if ticks is not None:
                axis.set_xticks(range(len(ticks)), ticks, fontsize=7, rotation=45)
            axis.legend(**BESIDE)


def draw_paired(rows: Sequence[Row], path: Path, datasets: Sequence[str], plain: str) -> None:
    """Two panels an environment: the mean score of every variant, and its paired difference to `plain` with the interval."""
    environments = list(dict.fromkeys(row["environment"] for row in rows))
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    with saving(path, 2 * max(1, len(environments)), width=4.6) as axes:
        for k, environment in enumerate(environments):
            scores, gains = axes[2 * k], axes[2 * k + 1]
            for colour, variant in enumerate(variants):
                mine = {
                    row["dataset"]: row
                    for row in rows
                    if (row["environment"], row["variant"]) == (environment, variant)
                }
                _score_line(scores, mine, datasets, f"C{colour}", variant)
                if variant != plain:
                    _gain_bars(gains, mine, datasets, f"C{colour}", 0.12 * (colour - 2), variant)
            gains.axhline(0, color="black", lw=0.6)
            scores.set(title=environment, ylabel="normalised return (0 to 100)")
            gains.set(
                title=f"{environment}: gain over {plain}, 95 % interval",
                ylabel="difference in normalised return",
            )
            for axis in (scores, gains):
                axis.set_xticks(range(len(datasets)), datasets, fontsize=7)
                axis.set_xlabel("data")
            gains.legend(*scores.get_legend_handles_labels(), **BESIDE)


def _score_line(
    axis: Any, rows: Mapping[str, Row], datasets: Sequence[str], colour: str, label: str
) -> None:
    known = [
        (x, rows[name]["score"]) for x, name in enumerate(datasets) if _has(rows, name, "score")
    ]
    if known:
        axis.plot(*zip(*known, strict=True), colour, marker="o", ms=3, lw=1, label=label)


def _gain_bars(
    axis: Any,
    rows: Mapping[str, Row],
    datasets: Sequence[str],
    colour: str,
    shift: float,
    label: str,
) -> None:
    known = [(x, rows[name]) for x, name in enumerate(datasets) if _has(rows, name, "low")]
    if known:
        x, mean = [x + shift for x, _ in known], np.array([row["difference"] for _, row in known])
        low, high = (np.array([row[end] for _, row in known]) for end in ("low", "high"))
        axis.errorbar(
            x,
            mean,
            yerr=[mean - low, high - mean],
            fmt="o",
            color=colour,
            ms=3,
            capsize=2,
            label=label,
        )


def _has(rows: Mapping[str, Row], dataset: str, column: str) -> bool:
    return dataset in rows and rows[dataset].get(column) is not None


def draw_curves(rows: Sequence[Row], path: Path, agents: Sequence[str]) -> None:
    """Learning curves: a row an environment, a column a dataset, a line an agent (the mean over seeds)."""
    found: dict[tuple[str, str], dict[str, dict[float, list[float]]]] = {}
    for row in rows:
        if row["score"] is not None:
            lines = found.setdefault((row["environment"], row["dataset"]), {})
            lines.setdefault(row["agent"], {}).setdefault(row["updates"], []).append(row["score"])
    environments, datasets = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    if not found:
        return
    with saving(path, len(datasets), 1.9, 1.8, rows=max(2, len(environments))) as axes:
        for axis in axes.ravel()[1:]:
            axis.set_visible(False)
        for (environment, dataset), lines in found.items():
            axis = axes[environments.index(environment), datasets.index(dataset)]
            axis.set_visible(True)
            for colour, agent in enumerate(agents):
                points = sorted((x / 1000, np.mean(y)) for x, y in lines.get(agent, {}).items())
                if points:
                    axis.plot(
                        *zip(*points, strict=True),
                        f"C{colour}",
                        marker=".",
                        ms=3,
                        lw=1,
                        label=agent,
                    )
            axis.set_title(f"{environment} {dataset}", fontsize=6)
            axis.set_xlabel("updates (thousands)", fontsize=6)
            axis.set_ylabel("normalised return", fontsize=6)
            axis.set(ylim=(-10, 125))
            axis.tick_params(labelsize=6)
        axes[0, 0].legend(fontsize=5)


def draw_when(
    rows: Sequence[Row], reliability: Sequence[Row], enters: Mapping[str, float], path: Path
) -> None:
    """Who wins when: correlation of every score with what the agents have reached after so many updates.

    Lines are the long runs with their intervals, single points the ends of the lite runs; the scores whose numbers are
    forecasts in points, the others are in the CSV.
    """
    names = [name for name in FORECASTS if any(row["score_name"] == name for row in rows)]
    with saving(path, 1, width=8.5, height=4.8) as (axis,):
        for colour, name in enumerate(names):
            lasting = [r for r in rows if r["score_name"] == name and r["oracle"] == "long"]
            ends = [r for r in rows if r["score_name"] == name and r["oracle"] == "lite"]
            _line_with_band(axis, lasting, f"C{colour}", name)
            _separate_points(axis, ends, f"C{colour}", 0.4 * (colour - len(names) / 2), name)
        for agent, updates in enters.items():
            axis.axvline(updates / 1000, color="grey", lw=0.8, ls=":", label=f"{agent} enters")
        for row in reliability:
            if row["panel"] == "mixtures" and row["ceiling"] is not None:
                style = "--" if row["halves"] == "agents" else "-."
                label = f"noise ceiling at the end, over {row['halves']}"
                axis.axhline(row["ceiling"], color="black", lw=0.8, ls=style, label=label)
        axis.set(
            title="Which score tells what agents have reached, along their training",
            xlabel="updates (thousands)",
            ylabel="Pearson with the mean of the agents, D4RL's scale",
        )
        axis.legend(**BESIDE, title="95 % intervals over clusters", title_fontsize=7)


def _line_with_band(axis: Any, rows: Sequence[Row], colour: str, label: str) -> None:
    known = [row for row in rows if row["value"] is not None and row["low"] is not None]
    x = [row["updates"] / 1000 for row in known]
    axis.plot(x, [row["value"] for row in known], colour, marker="o", ms=3, lw=1.2, label=label)
    low, high = ([row[end] for row in known] for end in ("low", "high"))
    axis.fill_between(x, low, high, color=colour, alpha=0.1, lw=0)


def _separate_points(axis: Any, rows: Sequence[Row], colour: str, shift: float, name: str) -> None:
    for row in rows:
        if row["value"] is not None and row["low"] is not None:
            spread = [[row["value"] - row["low"]], [row["high"] - row["value"]]]
            axis.errorbar(
                row["updates"] / 1000 + shift,
                row["value"],
                yerr=np.abs(spread),
                fmt="D",
                ms=5,
                color=colour,
                mfc="white",
                capsize=2,
                lw=0.8,
                label=f"{name}, end of the lite runs",
            )
