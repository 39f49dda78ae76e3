"""How much of the states and actions the data covers: cells of a grid, and entropy by neighbours."""

from __future__ import annotations

import numpy as np

HASH_BLOCK = 16_384  # rows hashed at once: they stay in the cache

# -- distinct cells of a grid ----------------------------------------------------------------------------------------


def count_cells(
    observations: np.ndarray, actions: np.ndarray, low: np.ndarray, high: np.ndarray, bins: int
) -> tuple[int, int]:
    """Distinct cells of a grid with `bins` a dimension between low and high, and distinct transitions.

    Each row becomes one 64-bit hash, so that memory and time stay linear; two rows of a million collide with a
    probability below 1e-7.
    """
    multipliers = np.random.default_rng(20_231).integers(1, 2**63, 2 * len(low), dtype=np.uint64)
    multipliers |= np.uint64(1)
    cells = np.zeros(len(observations), np.uint64)
    exact = np.zeros(len(observations), np.uint64)
    for first in range(0, len(observations), HASH_BLOCK):
        block = slice(first, first + HASH_BLOCK)
        columns = np.concatenate([observations[block].T, actions[block].T]).astype(np.float64)
        cells[block], exact[block] = _hashes(columns, low, high, bins, multipliers)
    return len(np.unique(cells)), len(np.unique(exact))


def _hashes(columns, low, high, bins, multipliers) -> tuple[np.ndarray, np.ndarray]:
    """One word a row from its cell, and one from its exact numbers."""
    cells = np.zeros(columns.shape[1], np.uint64)
    exact = np.zeros(columns.shape[1], np.uint64)
    for k, column in enumerate(columns):
        width = (high[k] - low[k]) or 1.0
        place = np.clip((column - low[k]) * (bins / width), 0, bins - 1)
        cells = _mixed(cells + place.astype(np.uint64) * multipliers[2 * k])
        exact = _mixed(exact + (column + 0.0).view(np.uint64) * multipliers[2 * k + 1])
    return cells, exact


def _mixed(values: np.ndarray) -> np.ndarray:
    """Spread every bit over the word, so that sums of products do not collide."""
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return values ^ (values >> np.uint64(29))


# -- entropy by nearest neighbours -----------------------------------------------------------------------------------


def neighbour_entropy(points: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
    """Entropy contribution of each distinct point, and its place in `points`; their mean is the entropy in nats.

    psi(n) - psi(k) + log c_d + d log r_i, with r_i the distance to the k-th neighbour among distinct points and c_d
    the volume of the unit ball. Dimensions that do not vary are left out.
    """
    from scipy.special import digamma, gammaln

    _, kept = np.unique(points, axis=0, return_index=True)
    kept = np.sort(kept)
    chosen = points[kept].astype(np.float64)
    chosen = chosen[:, chosen.std(axis=0) > 1e-9] if len(chosen) else chosen
    count, dimensions = chosen.shape
    if count <= neighbours or dimensions == 0:
        return np.zeros(0), kept[:0]
    ball = 0.5 * dimensions * np.log(np.pi) - gammaln(0.5 * dimensions + 1)
    radius = np.concatenate([_radii(chosen, first, neighbours) for first in range(0, count, 512)])
    constant = digamma(count) - digamma(neighbours) + ball
    return constant + dimensions * np.log(radius), kept


def _radii(points: np.ndarray, first: int, neighbours: int) -> np.ndarray:
    """Distance of a block of points to their k-th neighbour; candidates by products, distances by differences."""
    block = points[first : first + 512]
    squares = (points**2).sum(axis=1)
    rough = squares - 2 * block @ points.T
    rough[np.arange(len(block)), first + np.arange(len(block))] = np.inf
    near = np.argpartition(rough, neighbours - 1, axis=1)[:, :neighbours]
    distances = np.sqrt(((points[near] - block[:, None]) ** 2).sum(axis=2))
    return np.maximum(distances.max(axis=1), 1e-12)
