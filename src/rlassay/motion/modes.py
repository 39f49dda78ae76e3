"""Is it one way of doing the task, or several? Episodes as points, in as many groups as stand apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.motion.ends import strangeness
from rlassay.motion.likeness import courses
from rlassay.motion.trajectories import Motion, neighbours, principal

FEWEST = 12  # episodes that are asked
MOST = 1_000  # episodes that are grouped; the others join the nearest group
LARGEST = 6  # groups
DIRECTIONS = 10  # of the courses
DRAWS = 19  # data of one mode, drawn for comparison: exceeded by chance in one of twenty
SMALLEST = 0.5  # silhouette of "reasonable structure" (Kaufman and Rousseeuw 1990); less is no mode, whatever chance does
STRAY = 4.0  # times the usual distance from its neighbours: belongs to no group
STREAM = 72


@dataclass(frozen=True)
class Modes:
    """Groups of episodes; `labels` is -1 for an episode that is like no other."""

    labels: np.ndarray
    silhouette: float  # of the best grouping, 1 is perfectly apart
    by_chance: float  # the largest silhouette of data of one mode with the same spread

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1

    def members(self, mode: int) -> np.ndarray:
        return np.flatnonzero(self.labels == mode)


def find_modes(motion: Motion, seed: int = 0) -> Modes | None:
    """One mode unless groups stand apart more than in any of 19 draws of one mode; None for too few episodes."""
    if motion.count < FEWEST or motion.scaled_states.shape[1] == 0:
        return None
    points = principal(courses(motion), DIRECTIONS)
    alone = np.nan_to_num(strangeness(points, k=3)) > STRAY
    labels = np.where(alone, -1, 0)
    rng = np.random.default_rng([seed, STREAM])
    near = np.flatnonzero(~alone)
    some = np.sort(rng.permutation(near)[:MOST])
    if len(some) < FEWEST:
        return Modes(np.zeros(motion.count, int), 0.0, 0.0)
    groups, silhouette = best_grouping(points[some])
    chance = max(best_grouping(draw)[1] for draw in _one_mode(points[some], rng))
    if silhouette > max(chance, SMALLEST):
        labels[near] = _joined(points[near], points[some], groups)
    return Modes(_by_size(labels), silhouette, chance)


def best_grouping(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Ward's groups, 2 to 6 of at least 3 episodes and a twentieth of all, with the largest silhouette."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist, squareform

    apart = pdist(points)
    tree, square = linkage(points, "ward"), squareform(apart)
    least = max(3, len(points) // 20)
    best, largest = np.zeros(len(points), int), 0.0
    for number in range(2, LARGEST + 1):
        groups = fcluster(tree, number, "maxclust") - 1
        if np.bincount(groups).min() < least or groups.max() == 0:
            continue
        value = mean_silhouette(square, groups)
        if value > largest:
            best, largest = groups, value
    return best, largest


def mean_silhouette(apart: np.ndarray, groups: np.ndarray) -> float:
    """Mean of (b - a) / max(a, b): a the mean distance to one's own group, b to the nearest other one."""
    sizes = np.bincount(groups)
    sums = np.stack([apart[:, groups == g].sum(axis=1) for g in range(len(sizes))], axis=1)
    place = np.arange(len(groups))
    own = sums[place, groups] / np.maximum(1, sizes[groups] - 1)
    means = sums / sizes
    means[place, groups] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    return float(np.divide(other - own, larger, out=np.zeros_like(own), where=larger > 0).mean())


def _one_mode(points: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Draws with the spread of the points and no groups: normal ones, and even ones in a box."""
    centred = points - points.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    along = centred @ directions.T
    deviation, low, high = along.std(axis=0), along.min(axis=0), along.max(axis=0)
    normal = [rng.normal(size=along.shape) * deviation for _ in range(DRAWS // 2 + 1)]
    even = [rng.uniform(low, high, along.shape) for _ in range(DRAWS // 2)]
    return normal + even


def _joined(points: np.ndarray, grouped: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The group of the nearest grouped point."""
    return groups[neighbours(grouped, points, 1)[1][:, 0]]


def _by_size(labels: np.ndarray) -> np.ndarray:
    """Groups renumbered from the largest to the smallest."""
    known = np.unique(labels[labels >= 0])
    order = sorted(known.tolist(), key=lambda group: (-int((labels == group).sum()), group))
    renumbered = np.full(len(labels), -1)
    for new, old in enumerate(order):
        renumbered[labels == old] = new
    return renumbered
