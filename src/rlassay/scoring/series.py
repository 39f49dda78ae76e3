"""Numbers behind the figures of a card: episodes, histograms, calibration, training. At most 5,000 points each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlassay.scoring.assessment import Assessment
from rlassay.transport import ESTIMATORS

MOST_POINTS = 5_000
BINS = 40


def series(assessment: Assessment) -> dict[str, Any]:
    """Every series that the computed columns allow; nothing new is fitted for them."""
    found: dict[str, Any] = {
        "episodes": _episodes(assessment),
        "histograms": _histograms(assessment),
    }
    if assessment.computed.critic is not None:
        found["calibration"] = _calibration(assessment)
        found["training"] = _training(assessment)
    return found


def row_scores(assessment: Assessment) -> dict[str, np.ndarray]:
    """Value-based scores of every evaluated row, means over seeds; their means over rows are the dataset's scores.

    `bwd` is the integrand of the default estimator, where it lives on the evaluated rows.
    """
    computed = assessment.computed
    if computed.critic is None:
        return {}
    q = np.mean([rows.q for rows in assessment.evaluated], axis=0)
    v = np.mean([rows.v for rows in assessment.evaluated], axis=0)
    found = {"q": q, "advantage": q - v}
    if computed.pairs is not None:
        found["pd"] = np.mean([rows.v_random for rows in assessment.evaluated], axis=0) - v
    for estimator, results in computed.transport.items():
        if ESTIMATORS[estimator].lives_on == "rows":
            found[f"bwd.{estimator}"] = np.mean([one.integrand for one in results], axis=0)
    default = f"bwd.{assessment.settings.transport.estimator}"
    return {**found, "bwd": found[default]} if default in found else found


def _episodes(assessment: Assessment) -> dict[str, Any]:
    """A seeded sample of the episodes; with row scores only episodes that have evaluated rows."""
    whole, scored = assessment.whole, row_scores(assessment)
    if scored:
        chosen = _sample(np.unique(assessment.row_episodes))
        places = assessment.numbers_in_whole(chosen)
    else:
        chosen = places = _sample(np.arange(whole.episode_count))
    found: dict[str, Any] = {
        "index": places,
        "start": whole.episode_starts[places],
        "length": whole.episode_lengths[places],
        "sampled_from": whole.episode_count,
    }
    if whole.rewards is not None:
        found["return"] = whole.episode_returns[places]
    for name, values in scored.items():
        counts = np.bincount(assessment.row_episodes, minlength=chosen[-1] + 1)[chosen]
        sums = np.bincount(assessment.row_episodes, values, chosen[-1] + 1)[chosen]
        found[name] = sums / counts
    return found


def _histograms(assessment: Assessment) -> dict[str, Any]:
    data = assessment.data
    found: dict[str, Any] = {}
    if data.rewards is not None:
        found["return"] = _histogram(data=assessment.whole.episode_returns)
    samples = {"data": data.actions[assessment.rows].ravel()}
    if (pairs := assessment.computed.pairs) is not None:
        first = pairs[0]
        values = assessment.evaluated[0].q
        found["value"] = _histogram(data=values, random=first.q_random.ravel())
        samples["random"] = first.random_actions.ravel()
    numbers = assessment.shared.scaling.numbers
    if numbers is not None and numbers.count <= BINS:  # one bin for each action
        edges = np.arange(numbers.first, numbers.last + 2) - 0.5
        found["action"] = _shares(edges, samples)
    elif numbers is not None or not data.discrete_actions:
        found["action"] = _histogram(**samples)
    return found


def _histogram(**samples: np.ndarray) -> dict[str, Any]:
    """Shared edges, and the share of each sample in every bin."""
    finite = np.concatenate([values.astype(np.float64) for values in samples.values()])
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-9 * max(1.0, abs(high)):  # a constant still needs bins of some width
        low, high = low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    return _shares(np.linspace(low, high, BINS + 1), samples)


def _shares(edges: np.ndarray, samples: Mapping[str, np.ndarray]) -> dict[str, Any]:
    counts = {name: np.histogram(values, edges)[0] for name, values in samples.items()}
    return {"edges": edges, **{name: each / each.sum() for name, each in counts.items()}}


def _calibration(assessment: Assessment) -> dict[str, Any]:
    calibration = assessment.fitted.calibration
    chosen = _sample(np.arange(len(calibration.predicted)))
    return {
        "predicted": calibration.predicted[chosen],
        "monte_carlo": calibration.monte_carlo[chosen],
    }


def _training(assessment: Assessment) -> dict[str, Any]:
    """Mean value while the critic trains and, on its own steps, the dual value while the potentials do."""
    curve = assessment.fitted.critic.curve
    thin = slice(None, None, max(1, len(curve["step"]) // MOST_POINTS + 1))
    found = {"step": curve["step"][thin], "critic": curve["value"][thin]}
    if results := assessment.computed.transport.get("dual"):
        found["dual_step"] = results[0].curve["step"][:MOST_POINTS]
        found["dual"] = results[0].curve["value"][:MOST_POINTS]
    return found


def _sample(candidates: np.ndarray) -> np.ndarray:
    if len(candidates) <= MOST_POINTS:
        return candidates
    chosen = np.random.default_rng(0).choice(len(candidates), MOST_POINTS, replace=False)
    return candidates[np.sort(chosen)]
