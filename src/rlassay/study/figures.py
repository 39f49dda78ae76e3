"""Figures of the studies with matplotlib: axes, units and a legend on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.files import replacing
from rlassay.errors import SettingsError
from rlassay.study.correlate import POOLED, Points, min_max
from rlassay.study.files import Row

PANEL_TITLES = {
    "levels": "(a) levels of training",
    "splits": "(b) D4RL's splits",
    "mixtures": "(c) mixtures of policies",
    "all": "all datasets",
}


@contextmanager
def saving(path: Path, columns: int, width: float = 4.2, height: float = 3.6):
    """A row of axes, written as SVG when the block ends."""
    try:
        import matplotlib
    except ImportError:
        raise SettingsError(
            "figures need matplotlib", remedy="install it with `pip install 'rl-assay[plot]'`"
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width * columns, height), squeeze=False)
    yield axes[0]
    figure.tight_layout()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    plt.close(figure)


def draw_correlations(points: Points, rows: Sequence[Row], path: Path) -> None:
    """A bar a score and panel: pooled Pearson with its interval; last, the oracle against the two plain baselines."""
    chosen = [r for r in rows if r["scope"] == POOLED and r["kind"] == "pearson"]
    panels = list(dict.fromkeys(row["panel"] for row in chosen))
    with saving(path, len(panels) + 1, width=4.6, height=6.5) as axes:
        for axis, panel in zip(axes, panels, strict=False):
            _bars(axis, [row for row in chosen if row["panel"] == panel], PANEL_TITLES[panel])
        _scatter(axes[-1], points)


def _bars(axis: Any, rows: Sequence[Row], title: str) -> None:
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    y = np.arange(len(known))
    values = np.array([row["value"] for row in known])
    low = np.array([row["low"] if row["low"] is not None else row["value"] for row in known])
    high = np.array([row["high"] if row["high"] is not None else row["value"] for row in known])
    colours = ["#b45309" if row["score_name"].startswith("bwd") else "#1f5f8b" for row in known]
    axis.barh(y, values, color=colours)
    spread = np.abs([values - np.minimum(low, values), np.maximum(high, values) - values])
    axis.errorbar(values, y, xerr=spread, fmt="none", ecolor="black", lw=0.8, capsize=2)
    axis.set_yticks(y, [row["score_name"] for row in known], fontsize=7)
    axis.set(title=f"{title} (n = {known[0]['n'] if known else 0})", xlabel="Pearson with the oracle", xlim=(-1, 1))  # fmt: skip
    axis.axvline(0, color="black", lw=0.6)


def _scatter(axis: Any, points: Points) -> None:
    for name, marker in (("return", "o"), ("q", "x"), ("bwd.exact", "^")):
        if name in points.x:
            x = min_max(points.x[name].mean(axis=1), points.environments)
            axis.plot(x, points.y, marker, ms=5, label=name)
    axis.set(title="oracle against scores", xlabel="score, min-max within the environment", ylabel="oracle (normalised return, 0 to 100)")  # fmt: skip
    axis.legend(fontsize=8)


def draw_lines(
    series: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], path: Path, *, xlabel: str, ylabel: str,
    ticks: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """One panel a key of `series`, one line a label."""
    with saving(path, max(1, len(series))) as axes:
        for axis, (title, lines) in zip(axes, series.items(), strict=False):
            for label, points in lines.items():
                axis.plot(*zip(*points, strict=True), marker="o", ms=3, lw=1, label=label)
            axis.set(title=title, xlabel=xlabel, ylabel=ylabel)
            if ticks is not None:
                axis.set_xticks(range(len(ticks)), ticks, fontsize=7, rotation=45)
            axis.legend(fontsize=7)
