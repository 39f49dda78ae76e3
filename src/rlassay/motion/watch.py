"""The episodes worth watching, and why: those that stand out most on the bad side of any score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.motion.scores import ADJUSTED, EPISODE_SCORES, goodness
from rlassay.motion.trajectories import Motion

NUMBER = 5
OUTSTANDING = 3.5  # robust deviations from the median; less is everyday variation
LARGEST = 99.0
MARKS = ("success",)  # told apart: a mark does not stand out


@dataclass(frozen=True)
class Watched:
    """One episode, the score in which it stands out most, and a sentence for each reason."""

    episode: int
    score: str
    deviations: float  # from the median, in robust standard deviations
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "episode": self.episode,
            "score": self.score,
            "deviations": self.deviations,
            "reasons": list(self.reasons),
        }


def deviations(good: np.ndarray, grain: float = 0.0) -> np.ndarray:
    """How far each value lies on the bad side of the median, in robust standard deviations; 0 where unknown."""
    known = good[np.isfinite(good)]
    if len(known) < 3:
        return np.zeros(len(good))
    away = np.abs(known - np.median(known))
    scale = 1.4826 * np.median(away) or 1.2533 * away.mean()
    scale = max(scale, grain)
    if scale == 0:
        return np.zeros(len(good))
    return np.clip(np.nan_to_num((np.median(known) - good) / scale), 0.0, LARGEST)


def worth_watching(motion: Motion, columns: Mapping[str, np.ndarray]) -> tuple[Watched, ...]:
    """At most five episodes, the most outstanding first; none where nothing stands out."""
    table = _deviation_table(motion, columns)
    names = list(table)
    if not names:
        return ()
    values = np.stack([table[name] for name in names], axis=1)
    order = np.argsort(-values.max(axis=1), kind="stable")[:NUMBER]
    explained: set[str] = set()
    return tuple(
        _watched(int(episode), values[episode], names, motion, columns, explained)
        for episode in order
        if values[episode].max() >= OUTSTANDING
    )


def _deviation_table(motion: Motion, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    table = {}
    for name, spec in EPISODE_SCORES.items():
        judged = f"{name}{ADJUSTED}" if f"{name}{ADJUSTED}" in columns else name
        if name not in MARKS and judged in columns:
            table[name] = deviations(goodness(columns, judged), spec.grain)
    if motion.count >= 3:
        logarithm = np.log(motion.lengths)
        far = np.abs(logarithm - np.median(logarithm))
        table["length"] = deviations(-far, grain=0.1)
    return table


def _watched(
    episode: int,
    values: np.ndarray,
    names: list[str],
    motion: Motion,
    columns: Mapping[str, np.ndarray],
    explained: set[str],
) -> Watched:
    """`explained` are the scores whose meaning a reason before this one has told; its own are added."""
    order = [place for place in np.argsort(-values, kind="stable") if values[place] >= OUTSTANDING]
    reasons = []
    for place in order[:3]:
        name = names[place]
        sentence = _sentence(name, episode, motion, columns, float(values[place]))
        reasons.append(sentence + _meaning(name, explained))
        explained.add(name)
    return Watched(episode, names[order[0]], float(values[order[0]]), tuple(reasons))


def _sentence(
    name: str, episode: int, motion: Motion, columns: Mapping[str, np.ndarray], far: float
) -> str:
    """What the number is, and what is usual."""
    told = f"{far:.0f} robust deviations"
    if name == "length":
        usual = float(np.median(motion.lengths))
        return f"it has {motion.lengths[episode]:,} frames; the median is {usual:,.0f} ({told})"
    spec, value = EPISODE_SCORES[name], columns[name][episode]
    adjusted = columns.get(f"{name}{ADJUSTED}", columns[name])
    usual = value - adjusted[episode] + np.nanmedian(adjusted)
    return f"{spec.title.lower()} {value:.3g}, usual for its length {usual:.3g} ({told})"


def _meaning(name: str, explained: set[str]) -> str:
    """What the score is, where it is named for the first time."""
    return "" if name in explained or name == "length" else f": {EPISODE_SCORES[name].meaning}"
