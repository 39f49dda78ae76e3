"""Can good behaviour be entered from where everyone starts? Returns of the episodes that pass near first states."""

from __future__ import annotations

import numpy as np

from rlassay.data.dataset import Dataset

FIRST_STEPS = 20
NEIGHBOURS = 24
MOST_QUERIES, MOST_CANDIDATES = 1_000, 20_000
STREAM = 601


def reachable_return(data: Dataset, seed: int = 0) -> float:
    """Mean over first states of the return-weighted mean return of their neighbours' episodes.

    Neighbours come from other episodes than the state's own; a return weighs by its height above the lowest one.
    """
    rng = np.random.default_rng([seed, STREAM])
    queries = _sample(rng, np.flatnonzero(_steps(data) < FIRST_STEPS), MOST_QUERIES)
    pool = _sample(rng, np.arange(len(data)), MOST_CANDIDATES)
    states = _standardised(data)
    episodes, returns = data.episode_index, data.episode_returns
    near = nearest_of_others(states[queries], episodes[queries], states[pool], episodes[pool])
    found = returns[episodes[pool[near]]]
    return float(np.mean(_weighted(found, returns.min())))


def nearest_of_others(
    queries: np.ndarray, query_episodes: np.ndarray, pool: np.ndarray, pool_episodes: np.ndarray
) -> np.ndarray:
    """Positions in the pool of the nearest states of other episodes, as many as there are for every query."""
    squares = (pool**2).sum(axis=1)
    distances = squares - 2 * queries @ pool.T
    own = query_episodes[:, None] == pool_episodes[None]
    distances[own] = np.inf
    others = int((~own).sum(axis=1).min())
    if others == 0:  # one episode: it is its own neighbour
        return np.zeros((len(queries), 1), np.int64)
    count = min(NEIGHBOURS, others)
    return np.argpartition(distances, count - 1, axis=1)[:, :count]


def _weighted(returns: np.ndarray, lowest: float) -> np.ndarray:
    height = returns - lowest
    total = height.sum(axis=1)
    flat = total <= 0
    weighted = (height * returns).sum(axis=1) / np.where(flat, 1.0, total)
    return np.where(flat, returns.mean(axis=1), weighted)


def _steps(data: Dataset) -> np.ndarray:
    """The place of every row in its episode."""
    return np.arange(len(data)) - data.episode_starts[data.episode_index]


def _standardised(data: Dataset) -> np.ndarray:
    mean, deviation = data.observation_statistics
    return ((data.observations - mean) / (deviation + 1e-6)).astype(np.float32)


def _sample(rng: np.random.Generator, rows: np.ndarray, most: int) -> np.ndarray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
