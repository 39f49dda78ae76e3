"""The page's figures as PNG or SVG for papers, drawn with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlassay.engine.files import replacing
from rlassay.errors import DatasetError, SettingsError
from rlassay.report import charts, words
from rlassay.report.series import episodes_of, plain_card
from rlassay.report.words import title_of
from rlassay.results.card import Scorecard, in_reading_order

DATA, RANDOM, GOLD = "#1f5f99", "#8a8f99", "#b87503"
SUFFIXES = (".png", ".svg")
STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e1d9",
    "font.size": 9,
    "legend.frameon": False,
    "svg.hashsalt": "rlassay",
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}


def plot_card(card: Scorecard, figure: str = "scores", path: str | Path | None = None) -> Any:
    """Draw one figure of a card and return it; with `path` (.png or .svg) also save it."""
    drawing = FIGURES.get(figure)
    if drawing is None:
        raise SettingsError("unknown figure", allowed=list(FIGURES), got=figure)
    target = _checked(path)
    matplotlib = _matplotlib()
    with matplotlib.rc_context(STYLE):
        drawn = drawing(plain_card(card))
        if target is not None:
            _save(drawn, target)
    return drawn


def _checked(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    if Path(path).suffix.lower() not in SUFFIXES:
        raise SettingsError(
            "a figure is saved as PNG or SVG", allowed=list(SUFFIXES), got=Path(path).name
        )
    return Path(path)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise SettingsError(
            "figures need matplotlib, which is not installed",
            remedy="pip install 'rl-assay[plot]'",
        ) from None
    return matplotlib


def _save(figure: Any, path: Path) -> None:
    kind = path.suffix.lower()[1:]
    still = {"Date": None} if kind == "svg" else {}  # equal cards give equal files
    with replacing(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=200, metadata=still)


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _absent(card: Scorecard, what: str) -> DatasetError:
    return DatasetError(
        f"the card of {words.short_name(card.dataset)} holds no {what}",
        remedy="score the dataset with this version again",
    )


def _scores(card: Scorecard) -> Any:
    """One small panel per score, because their units differ."""
    names = in_reading_order(card)
    if not names:
        raise _absent(card, "score")
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = _figure(2.1 * columns, 1.25 * rows, rows, columns)
    for place, axis in enumerate(axes.flat):
        if place < len(names):
            _score_panel(axis, names[place], card)
        else:
            axis.set_visible(False)
    handles = {line.get_label(): line for axis in axes.flat for line in axis.lines}
    figure.legend(handles.values(), handles, loc="outside lower right", ncols=3, fontsize=8)
    figure.suptitle(words.short_name(card.dataset), fontsize=10)
    return figure


def _score_panel(axis: Any, name: str, card: Scorecard) -> None:
    score = card[name]
    if score.interval is not None:
        axis.plot(
            score.interval,
            [0, 0],
            color=DATA,
            linewidth=5,
            alpha=0.35,
            solid_capstyle="round",
            label="95 % interval",
        )
    axis.plot(
        score.per_seed, [0] * len(score.per_seed), ".", color=GOLD, markersize=4, label="seeds"
    )
    axis.plot([score.value], [0], "o", color=DATA, label="value")
    axis.set_yticks([])
    axis.set_title(f"{name} {words.ARROWS[score.direction]}", fontsize=9, loc="left")
    axis.set_xlabel(score.unit, fontsize=7.5)
    axis.tick_params(labelsize=7.5)
    axis.margins(x=0.35)


def _returns(card: Scorecard) -> Any:
    spec = charts.returns_chart(card)
    if spec is None:
        raise _absent(card, "episode returns")
    figure, axes = _figure(5, 3)
    axis = axes[0, 0]
    above = [right > spec["threshold"] for right in spec["edges"][1:]]
    for wanted, color, label in ((False, DATA, "episodes"), (True, GOLD, "best tenth")):
        heights = [
            count if top is wanted else 0 for count, top in zip(spec["counts"], above, strict=True)
        ]
        axis.stairs(heights, spec["edges"], fill=True, color=color, label=label)
    axis.axvline(spec["threshold"], color=GOLD, linestyle="--", linewidth=1)
    return _labelled(figure, axis, spec)


def _episodes(card: Scorecard) -> Any:
    episodes = episodes_of(card)
    if episodes is None or not episodes.scores:
        raise _absent(card, "episode scores")
    name = "bwd" if "bwd" in episodes.scores else in_reading_order(episodes.scores)[0]
    figure, axes = _figure(5, 3.4)
    axis = axes[0, 0]
    axis.scatter(
        episodes.returns,
        episodes.columns[name],
        s=12,
        color=DATA,
        alpha=0.5,
        linewidths=0,
        label="one episode",
    )
    unit = f" ({card[name].unit})" if name in card else ""
    labels = {
        "title": f"{title_of(name, card.get(name))} and return",
        "x_label": "return of an episode (sum of rewards)",
        "y_label": f"{name}{unit}",
    }
    return _labelled(figure, axis, labels)


def _distribution(name: str) -> Callable[[Scorecard], Any]:
    def draw(card: Scorecard) -> Any:
        spec = charts.distribution_chart(card, name)
        if spec is None:
            raise _absent(card, f"histogram of {name}")
        figure, axes = _figure(5, 3)
        for series, color in zip(spec["series"], (DATA, RANDOM), strict=False):
            axes[0, 0].stairs(
                series["shares"],
                spec["edges"],
                fill=True,
                color=color,
                alpha=0.4,
                label=series["name"],
            )
        return _labelled(figure, axes[0, 0], spec)

    return draw


def _calibration(card: Scorecard) -> Any:
    spec = charts.calibration_chart(card)
    if spec is None:
        raise _absent(card, "calibration")
    figure, axes = _figure(4, 3.6)
    axis, stored = axes[0, 0], card.series["calibration"]
    axis.scatter(
        stored["monte_carlo"],
        stored["predicted"],
        s=8,
        color=DATA,
        alpha=0.4,
        linewidths=0,
        label="held-out transitions",
    )
    axis.plot(spec["bounds"], spec["bounds"], "--", color=GOLD, label="equal")
    return _labelled(figure, axis, spec)


def _training(card: Scorecard) -> Any:
    specs = charts.training_charts(card)
    if not specs:
        raise _absent(card, "training curve")
    figure, axes = _figure(4 * len(specs), 2.8, 1, len(specs))
    for axis, spec in zip(axes[0], specs, strict=True):
        axis.plot(spec["x"], spec["y"], color=DATA, label=spec["y_label"])
        axis.set_ylim(*spec["y_range"])
        _labelled(figure, axis, spec)
    return figure


def _labelled(figure: Any, axis: Any, spec: charts.Spec) -> Any:
    axis.set_title(spec["title"], fontsize=10, loc="left")
    axis.set_xlabel(spec["x_label"])
    axis.set_ylabel(spec["y_label"])
    axis.legend(fontsize=8)
    return figure


FIGURES: dict[str, Callable[[Scorecard], Any]] = {
    "scores": _scores,
    "returns": _returns,
    "episodes": _episodes,
    "value": _distribution("value"),
    "action": _distribution("action"),
    "calibration": _calibration,
    "training": _training,
}
