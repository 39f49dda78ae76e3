"""One sentence under each chart on what it shows here, computed from the very numbers that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlassay.report import words
from rlassay.report.series import Episodes, best_tenth_from, top_share_mean

NAMED_AT_MOST = 4  # datasets that a sentence names one by one
SETTLED = 0.01  # a change over the last tenth below this share of the value counts as flat


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
    strength = float(np.corrcoef(_ranks(returns), _ranks(scores))[0, 1])
    kind = "closely" if abs(strength) >= 0.8 else "loosely" if abs(strength) >= 0.4 else "hardly"
    return f"Over these episodes {name} follows the return {kind}: rank correlation {strength:.2f}."


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def _middle_half(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(low), float(high)


def _quantile(edges: Any, counts: np.ndarray, share: float) -> float:
    """A quantile from a histogram, even within a bin."""
    cumulative = np.concatenate([[0.0], np.cumsum(counts)]) / max(float(counts.sum()), 1e-12)
    return float(np.interp(share, cumulative, np.asarray(edges, float)))


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
