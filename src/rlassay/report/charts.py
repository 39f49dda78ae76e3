"""Chart specifications of the page: plain numbers that the page's script draws with BokehJS.

Long columns travel as base64 of little-endian float32 or int32, about half of their decimal text.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from rlassay.report import captions, words
from rlassay.report.series import (
    Episodes,
    best_tenth_from,
    episodes_of,
    return_edges,
    thin_rows,
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
    """Histogram of episode returns with the best tenth marked."""
    episodes = episodes_of(card)
    if episodes is None:
        return None
    best = card.get("return_top10")
    edges, counts = _return_counts(card, episodes)
    return {
        "kind": "histogram",
        "title": "Episode returns",
        "x_label": "return of an episode (sum of rewards)",
        "y_label": "episodes",
        "edges": rounded(edges),
        "counts": rounded(counts),
        "threshold": rounded([best_tenth_from(episodes.returns)])[0],
        "caption": captions.returns_caption(episodes, best and best.value),
    }


def _return_counts(card: Scorecard, episodes: Episodes) -> tuple[np.ndarray, np.ndarray]:
    """From the episodes themselves; of a sample the stored histogram knows all of them."""
    stored = _histogram(card, "return") if episodes.sampled else None
    if stored is None:
        edges = return_edges([episodes.returns])
        return edges, np.histogram(episodes.returns, edges)[0]
    shares = np.asarray(stored["data"], dtype=float)
    return np.asarray(stored["edges"]), np.round(episodes.total * shares / shares.sum())


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
        "y_label": _density_label(stored["edges"], "transitions"),
        "edges": rounded(stored["edges"]),
        "series": [{"name": label, "shares": _shares(counts)} for label, counts in series],
        "caption": captions.distribution_caption(name, stored["edges"], series),
    }


def _density_label(edges: Any, what: str) -> str:
    """Density over equal bins, with its unit: how many per cent fall on a bin's width."""
    return f"density (% of {what} per {words.number(float(edges[1]) - float(edges[0]), 2)})"


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
        "caption": captions.calibration_caption(
            *(np.asarray(columns[name], float) for name in ("predicted", "monte_carlo"))
        ),
    }


def training_charts(card: Scorecard) -> list[Spec]:
    """How the critic and, where there is one, the solver or the potentials converged."""
    stored = card.series.get("training") or {}
    labels = {
        "critic": ("Critic training", "mean value of the data", "the critic has"),
        "dual": ("Solver convergence", "value of the dual objective", "the potentials have"),
    }
    charts = []
    for name, (title, y_label, subject) in labels.items():
        steps = stored.get(f"{name}_step") or stored.get("step") or []
        values = stored.get(name)
        if isinstance(values, list) and values and len(values) == len(steps):
            caption = captions.training_caption(values, subject)
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
        "y_label": _density_label(edges, "the dataset's episodes"),
        "edges": rounded(edges),
        "series": [
            {"name": name, "shares": _shares(np.histogram(table.returns, edges)[0])}
            for name, table in known
        ],
        "caption": captions.several_returns_caption(known),
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
