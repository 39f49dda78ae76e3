"""Chart specifications of the page: plain numbers that the page's script draws with BokehJS.

Under each chart stands one sentence on what it shows here, computed from the very numbers that are drawn. Long columns travel packed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay.report import words
from rlassay.report.series import (
    Episodes,
    best_tenth_from,
    episodes_of,
    return_edges,
    thin_rows,
    top_share_mean,
)
from rlassay.results.card import Score, Scorecard
from rlassay.results.packing import packed

Spec = dict[str, Any]
UNITS = {"value": "discounted sum of rewards", "action": "in the units of the file"}
CALIBRATION_POINTS = 1500  # more dots than this only cover each other
TRAINING_POINTS = 400
DISTRIBUTIONS = {"value": "Value of actions", "action": "Actions"}
NAMED_AT_MOST = 4  # datasets that a sentence names one by one
SETTLED = 0.01  # a change over the last tenth below this share of the value counts as flat


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
        "caption": returns_caption(episodes, best and best.value),
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
        "caption": distribution_caption(name, stored["edges"], series),
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
        "caption": calibration_caption(
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
            caption = training_caption(values, subject)
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
        "caption": several_returns_caption(known),
    }


def ranking_chart(names: list[str], columns: Mapping[str, Sequence[Score | None]]) -> Spec:
    """Every score of every dataset with its interval; the page shows one score at a time."""
    known = {name: next(score for score in column if score) for name, column in columns.items()}
    return {
        "kind": "ranking",
        "title": "Ranking",
        "names": names,
        "scores": {
            name: {
                "direction": known[name].direction,
                "unit": words.plain(known[name].unit),
                "rows": [score and _ranking_row(score) for score in column],
            }
            for name, column in columns.items()
        },
        "caption": "Dot: the value. Bar: its interval, 95 % unless another is named. Small dots: single seeds.",
    }


def _ranking_row(score: Score) -> Spec:
    low, high = score.interval or (score.value, score.value)
    return {
        "value": rounded([score.value])[0],
        "interval": rounded([low, high]) if score.interval else None,
        "seeds": rounded(score.per_seed),
        "text": words.value_and_interval(score),
    }


def returns_caption(episodes: Episodes, best_tenth: float | None) -> str:
    """Where the middle half lies and where the best tenth begins; `best_tenth` is the card's own mean of it."""
    low, high = _middle_half(episodes.returns)
    mean = top_share_mean(episodes.returns) if best_tenth is None else best_tenth
    basis = ""
    if episodes.sampled:
        basis = f" Told from a seeded sample of {len(episodes):,} of {episodes.total:,} episodes."
    return (
        f"Half of the episodes return between {words.number(low)} and {words.number(high)}; the best tenth, in gold, "
        f"starts at {words.number(best_tenth_from(episodes.returns))} and returns {words.number(mean)} on average.{basis}"
    )


def several_returns_caption(tables: Sequence[tuple[str, Episodes]]) -> str:
    """The middle half of each dataset, or of the lowest and highest where there are many."""
    halves = sorted(
        (float(np.median(table.returns)), name, _middle_half(table.returns))
        for name, table in tables
    )
    told = halves if len(halves) <= NAMED_AT_MOST else [halves[-1], halves[0]]
    spans = [
        f"{words.number(low)} to {words.number(high)} in {name}" for _, name, (low, high) in told
    ]
    text = f"The middle half of the episodes returns {_listed(spans)}."
    if len(halves) > NAMED_AT_MOST:
        text += f" The other {len(halves) - 2} datasets lie between these two by their median."
    return text


def distribution_caption(name: str, edges: Any, series: Sequence[tuple[str, Any]]) -> str:
    """Middle half of the data and how much of it the random actions share."""
    data = np.asarray(series[0][1], float)
    low, high = _quantile(edges, data, 0.25), _quantile(edges, data, 0.75)
    what = {
        "value": "By the critic, the middle half of the recorded actions is worth",
        "action": "The middle half of the recorded action components lies at",
    }.get(name, f"The middle half of the recorded {words.plain(name)} lies at")
    text = f"{what} {words.number(low, 3)} to {words.number(high, 3)}"
    if len(series) < 2:
        return f"{text}."
    random = np.asarray(series[1][1], float)
    if name == "action":
        ends = [words.percent(float((part[0] + part[-1]) / part.sum())) for part in (data, random)]
        return f"{text}; {ends[0]} lie in the outermost two bins, of random actions {ends[1]}."
    overlap = float(np.minimum(data / data.sum(), random / random.sum()).sum())
    middle = words.number(_quantile(edges, random, 0.5), 3)
    return (
        f"{text}; random actions in the same states have the median {middle}, "
        f"and the two distributions overlap by {words.percent(overlap)}."
    )


def calibration_caption(predicted: np.ndarray, truth: np.ndarray) -> str:
    """How far and to which side the critic errs."""
    bias = float((predicted - truth).mean())
    side = "too high" if bias > 0 else "too low"
    text = f"Over {len(truth):,} held-out transitions the critic is {words.number(abs(bias), 3)} {side} on average"
    if len(truth) > 2 and predicted.std() > 0 and truth.std() > 0:
        text += f", with correlation {np.corrcoef(predicted, truth)[0, 1]:.2f}"
    return f"{text}; on the dashed line it is right."


def training_caption(values: Sequence[float], what: str) -> str:
    """Whether the curve is flat at its end."""
    array = np.asarray(values, float)
    last = array[-max(2, len(array) // 10) :]
    change = float(last[-1] - last[0])
    share = abs(change) / max(abs(float(array[-1])), 1e-12)
    state = f"so {what} settled" if share <= SETTLED else "so more steps may still move it"
    return (
        f"It ends at {words.number(float(array[-1]))} and changes by {words.number(change, 2)} "
        f"({100 * share:.1f} %) over the last tenth of the steps, {state}."
    )


def explorer_caption(episodes: Episodes, name: str) -> str:
    """How a score follows the return from episode to episode."""
    returns, scores = episodes.returns, episodes.columns[name]
    if len(returns) < 3 or np.ptp(returns) == 0 or np.ptp(scores) == 0:
        return f"Too few or equal values to say how {name} follows the return."
    from scipy.stats import rankdata

    strength = float(np.corrcoef(rankdata(returns), rankdata(scores))[0, 1])
    kind = "closely" if abs(strength) >= 0.8 else "loosely" if abs(strength) >= 0.4 else "hardly"
    return f"Over these episodes {name} follows the return {kind}: rank correlation {strength:.2f}."


def _middle_half(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(low), float(high)


def _quantile(edges: Any, counts: np.ndarray, share: float) -> float:
    """A quantile from a histogram, even within a bin."""
    cumulative = np.concatenate([[0.0], np.cumsum(counts)]) / max(float(counts.sum()), 1e-12)
    return float(np.interp(share, cumulative, np.asarray(edges, float)))


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
