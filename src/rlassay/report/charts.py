"""Chart specifications of the page: plain numbers that the page's script draws with BokehJS.

Long columns travel as base64 of little-endian float32 or int32, about half of their decimal text.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from rlassay.report import words
from rlassay.report.series import (
    Episodes,
    episodes_of,
    return_edges,
    thin_rows,
    top_threshold,
)
from rlassay.results.card import Scorecard

Spec = dict[str, Any]
UNITS = {"value": "discounted sum of rewards", "action": "in the units of the file"}
CALIBRATION_POINTS = 1500  # more dots than this only cover each other
TRAINING_POINTS = 400
DISTRIBUTIONS = {"value": "Value of actions", "action": "Actions"}


def packed(values: np.ndarray) -> Spec:
    """A column for the page's script; whole numbers stay exact."""
    array = np.asarray(values, dtype=float)
    whole = bool(np.all(array == np.round(array)) and np.all(np.abs(array) < 2**31))
    kind = "i4" if whole else "f4"
    return {kind: base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def rounded(values: Any, digits: int = 6) -> list[float]:
    """Short decimal text for short columns."""
    return [float(f"{float(value):.{digits}g}") for value in values]


def returns_chart(card: Scorecard) -> Spec | None:
    """Histogram of episode returns with the top decile marked."""
    episodes = episodes_of(card)
    if episodes is None:
        return None
    threshold = top_threshold(episodes.returns)
    edges, counts = _return_counts(card, episodes)
    return {
        "kind": "histogram",
        "title": "Episode returns",
        "x_label": "return of an episode (sum of rewards)",
        "y_label": "episodes",
        "edges": rounded(edges),
        "counts": rounded(counts),
        "threshold": rounded([threshold])[0],
        "caption": _returns_caption(episodes, threshold),
    }


def _return_counts(card: Scorecard, episodes: Episodes) -> tuple[np.ndarray, np.ndarray]:
    """From the episodes themselves; of a sample the stored histogram knows all of them."""
    stored = _histogram(card, "return") if episodes.sampled else None
    if stored is None:
        edges = return_edges([episodes.returns])
        return edges, np.histogram(episodes.returns, edges)[0]
    shares = np.asarray(stored["data"], dtype=float)
    return np.asarray(stored["edges"]), np.round(episodes.total * shares / shares.sum())


def _returns_caption(episodes: Episodes, threshold: float) -> str:
    best = episodes.returns[episodes.returns >= threshold]
    basis = ""
    if episodes.sampled:
        basis = f" Told from a seeded sample of {len(episodes):,} of {episodes.total:,} episodes."
    return (
        f"Gold marks the top decile: returns of at least {words.number(threshold)}, "
        f"{words.number(float(best.mean()))} on average.{basis}"
    )


def distribution_chart(card: Scorecard, name: str) -> Spec | None:
    """Data against random: shares of transitions over the same bins."""
    stored = _histogram(card, name)
    if stored is None:
        return None
    series = [("data", stored["data"])]
    if stored.get("random"):
        series.append(("random", stored["random"]))
    unit = words.plain(stored.get("unit") or UNITS.get(name, name))
    return {
        "kind": "distributions",
        "title": DISTRIBUTIONS.get(name, words.plain(name).capitalize()),
        "x_label": f"{words.plain(name)} ({unit})" if unit != name else unit,
        "y_label": "share of transitions (%)",
        "edges": rounded(stored["edges"]),
        "series": [
            {"name": label, "heights": _shares(counts), "shares": _shares(counts)}
            for label, counts in series
        ],
        "caption": _distribution_caption(name, len(series) > 1),
    }


def _distribution_caption(name: str, against_random: bool) -> str:
    what = {
        "value": "The critic's value of the recorded actions",
        "action": "All components of the recorded actions, pooled",
    }.get(name, f"The recorded {words.plain(name)}")
    return f"{what}, against random actions in the same states." if against_random else f"{what}."


def _shares(counts: Any) -> list[float]:
    array = np.asarray(counts, dtype=float)
    return rounded(100 * array / max(array.sum(), 1e-12), 4)


def distribution_charts(card: Scorecard) -> list[Spec]:
    """Value and action first, then whatever else was stored."""
    stored = card.series.get("histograms") or {}
    names = [name for name in DISTRIBUTIONS if name in stored]
    names += [name for name in stored if name not in DISTRIBUTIONS and name != "return"]
    return [spec for name in names if (spec := distribution_chart(card, name))]


def _histogram(card: Scorecard, name: str) -> dict[str, Any] | None:
    """A stored histogram that can be drawn: edges one longer than its counts."""
    stored = (card.series.get("histograms") or {}).get(name)
    if not isinstance(stored, dict) or not stored.get("edges") or not stored.get("data"):
        return None
    return stored if len(stored["edges"]) == len(stored["data"]) + 1 else None


def calibration_chart(card: Scorecard, limit: int = CALIBRATION_POINTS) -> Spec | None:
    """Predicted value against the Monte-Carlo return of the same state and action."""
    stored = card.series.get("calibration") or {}
    if not stored.get("predicted") or not stored.get("monte_carlo"):
        return None
    columns = {name: stored[name] for name in ("predicted", "monte_carlo")}
    points = thin_rows(columns, min(limit, CALIBRATION_POINTS))
    bounds = [
        float(min(points["predicted"].min(), points["monte_carlo"].min())),
        float(max(points["predicted"].max(), points["monte_carlo"].max())),
    ]
    return {
        "kind": "calibration",
        "title": "Critic calibration",
        "x_label": "Monte-Carlo discounted return",
        "y_label": "value predicted by the critic",
        "x": packed(points["monte_carlo"]),
        "y": packed(points["predicted"]),
        "bounds": rounded(bounds),
        "caption": _calibration_caption(card, columns),
    }


def _calibration_caption(card: Scorecard, columns: dict[str, Any]) -> str:
    predicted, truth = (np.asarray(columns[name], float) for name in ("predicted", "monte_carlo"))
    bias = float((predicted - truth).mean())
    text = f"Held-out transitions; on the line the critic is right. Mean difference {words.number(bias, 3)}"
    if len(truth) > 2 and predicted.std() > 0 and truth.std() > 0:
        text += f", correlation {np.corrcoef(predicted, truth)[0, 1]:.2f}"
    return f"{text} over {len(truth):,} points."


def training_charts(card: Scorecard) -> list[Spec]:
    """How the critic and, where there is one, the solver or the potentials converged."""
    stored = card.series.get("training") or {}
    labels = {
        "critic": ("Critic training", "mean value of the data", "A flat end means that the critic has settled; a slope asks for more steps."),
        "dual": ("Solver convergence", "value of the dual objective", "A flat end means that the potentials have settled."),
    }  # fmt: skip
    charts = []
    for name, (title, y_label, caption) in labels.items():
        steps = stored.get(f"{name}_step") or stored.get("step") or []
        values = stored.get(name)
        if isinstance(values, list) and values and len(values) == len(steps):
            charts.append(_line(steps, values, title, y_label, caption))
    return charts


def _line(steps: list[float], values: list[float], title: str, y_label: str, caption: str) -> Spec:
    every = max(1, math.ceil(len(steps) / TRAINING_POINTS))
    return {
        "kind": "line",
        "title": title,
        "x_label": "training step",
        "y_label": y_label,
        "x": rounded(steps[::every]),
        "y": rounded(values[::every]),
        "y_range": rounded(_calm_range(values)),
        "caption": caption,
    }


def _calm_range(values: list[float]) -> list[float]:
    """A range of at least a tenth of the values' size, so that noise does not look like drift."""
    low, high = min(values), max(values)
    least = 0.1 * max(abs(low), abs(high), 1e-12)
    margin = max(0.05 * (high - low), (least - (high - low)) / 2)
    return [low - margin, high + margin]


def overlaid_returns(cards: list[Scorecard], names: list[str]) -> Spec | None:
    """Return distributions of several datasets over common bins."""
    tables = [(name, episodes_of(card)) for name, card in zip(names, cards, strict=True)]
    known = [(name, table) for name, table in tables if table is not None]
    if not known:
        return None
    edges = return_edges([table.returns for _, table in known])
    return {
        "kind": "distributions",
        "title": "Return distributions",
        "x_label": "return of an episode (sum of rewards)",
        "y_label": "episodes (% of the dataset's fullest bin)",
        "edges": rounded(edges),
        "series": [
            _peak_series(name, np.histogram(table.returns, edges)[0]) for name, table in known
        ],
        "caption": "Each dataset's episodes over the same bins, scaled to its own fullest bin, so that narrow and wide ones can be read together.",
    }


def _peak_series(name: str, counts: np.ndarray) -> Spec:
    return {
        "name": name,
        "heights": rounded(100 * counts / max(counts.max(), 1), 4),
        "shares": _shares(counts),
    }


def ranking_chart(cards: list[Scorecard], names: list[str], scores: list[str]) -> Spec:
    """Every score of every dataset with its interval; the page shows one score at a time."""
    return {
        "kind": "ranking",
        "title": "Ranking",
        "names": names,
        "scores": {
            score: {
                "direction": next(card[score].direction for card in cards if score in card),
                "unit": words.plain(next(card[score].unit for card in cards if score in card)),
                "rows": [_ranking_row(card, score) for card in cards],
            }
            for score in scores
        },
        "caption": "Dot: the value. Bar: its 95 % interval. Small dots: single seeds.",
    }


def _ranking_row(card: Scorecard, name: str) -> Spec | None:
    score = card.get(name)
    if score is None:
        return None
    low, high = score.interval or (score.value, score.value)
    return {
        "value": rounded([score.value])[0],
        "interval": rounded([low, high]) if score.interval else None,
        "seeds": rounded(score.per_seed),
    }
