"""The rule of docs/demonstrations.md as code: six scores for the policy test, and the default of `curate --by`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlassay.motion.scores import ADJUSTED

ALWAYS = ("bc_surprise", "mutual_information")
BEST, COMPLEMENTS = 2, 2
DRAWS = 2_000
WORST_MEAN = -5.0  # points in any environment
STREAM = 75
Cell = tuple[str, str]  # environment and defect


def six_scores(areas: Mapping[str, Mapping[Cell, float]]) -> list[str]:
    """The scores of the policy test, from stratified detection at middle strength.

    `areas` is in the order of the registry. A cell that is missing (NaN) for any score counts for none.
    """
    cells = [
        cell
        for cell in next(iter(areas.values()))
        if all(np.isfinite(area.get(cell, np.nan)) for area in areas.values())
    ]
    table = {name: np.array([area[cell] for cell in cells]) for name, area in areas.items()}
    families = _represented(table)
    chosen = [families[name] for name in ALWAYS if name in families]
    rest = [name for name in families.values() if name not in chosen]
    chosen += sorted(rest, key=lambda name: -table[name].mean())[:BEST]
    for _ in range(COMPLEMENTS):
        left = [name for name in families.values() if name not in chosen]
        if left:
            chosen.append(max(left, key=lambda name: _together(table, [*chosen, name])))
    return chosen


def _represented(table: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Each family by its better form; equal: the raw one."""
    families: dict[str, str] = {}
    for name in table:
        family = name.removesuffix(ADJUSTED)
        held = families.get(family)
        better = held is None or table[name].mean() > table[held].mean()
        equal = held is not None and table[name].mean() == table[held].mean()
        if better or (equal and name == family):
            families[family] = name
    return families


def _together(table: Mapping[str, np.ndarray], names: Sequence[str]) -> float:
    """Mean over cells of the best detection among some scores."""
    return float(np.max([table[name] for name in names], axis=0).mean())


@dataclass(frozen=True)
class Gain:
    """What a score's half gives over a random half, in points of the policy's score."""

    score: str
    mean: float
    interval: tuple[float, float]
    error: float  # standard error over cells
    worst: float  # mean of the worst environment

    @property
    def qualifies(self) -> bool:
        return self.interval[0] > 0 and self.worst >= WORST_MEAN


def gain(score: str, differences: Mapping[Cell, Sequence[float]], seed: int = 0) -> Gain:
    """Differences to the random half, by (environment, defect), one for each seed of the policy."""
    cells = list(differences)
    means = np.array([np.mean(differences[cell]) for cell in cells])
    rng = np.random.default_rng([seed, STREAM])
    drawn = means[rng.integers(0, len(means), (DRAWS, len(means)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    environments = {cell[0] for cell in cells}
    worst = min(
        float(np.mean([m for m, cell in zip(means, cells, strict=True) if cell[0] == environment]))
        for environment in environments
    )
    error = float(drawn.std())
    return Gain(score, float(means.mean()), (float(low), float(high)), error, worst)


def default_score(gains: Sequence[Gain], seconds: Mapping[str, float], otherwise: str) -> str:
    """The winner: of the qualifying within one standard error of the largest mean, the quickest; else `otherwise`."""
    qualified = [each for each in gains if each.qualifies]
    if not qualified:
        return otherwise
    best = max(qualified, key=lambda each: each.mean)
    near = [each for each in qualified if each.mean >= best.mean - best.error]
    return min(near, key=lambda each: seconds[each.score]).score
