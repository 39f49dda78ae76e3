"""Which parts of the state space each episode visits.

States are put into cells: the Voronoi cells of a seeded sample of rows, so that they are fine where data is dense. An
episode covers the cells it visits; a set of episodes covers the union.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.data.dataset import Dataset

CELLS = 1_000  # most cells
ROWS = 100_000  # most rows that are put into cells; a longer dataset is thinned evenly inside its episodes
CELL_STREAM = 31


@dataclass(frozen=True)
class Cells:
    """Which cells each episode visits: `visited[starts[e]:starts[e + 1]]`, each once."""

    visited: np.ndarray
    starts: np.ndarray
    count: int  # cells that any episode visits

    def of(self, episode: int) -> np.ndarray:
        return self.visited[self.starts[episode] : self.starts[episode + 1]]

    def take(self, episodes: np.ndarray) -> Cells:
        """The cells of some of the episodes."""
        parts = [self.of(int(episode)) for episode in episodes]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        visited = np.concatenate(parts)
        return Cells(visited, starts, len(np.unique(visited)))

    def shares(self) -> np.ndarray:
        """Each episode's share of the coverage: a cell counts 1 / (episodes that visit it).

        It is the Shapley value of "number of cells covered", divided by that number: the shares sum to 1, and an
        episode that repeats others gets little however long it is.
        """
        visitors = np.bincount(self.visited)
        episode = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        worth = 1.0 / visitors[self.visited]
        return np.bincount(episode, worth, minlength=len(self.starts) - 1) / self.count


def visited_cells(data: Dataset, seed: int = 0, cells: int = CELLS) -> Cells:
    """Put the states of a dataset into cells; every episode is looked at, at least in one row."""
    rows = _thinned_rows(data)
    mean, deviation = data.observation_statistics
    states = (data.observations[rows] - mean) / np.where(deviation > 0, deviation, 1.0)
    rng = np.random.default_rng([seed, CELL_STREAM])
    centres = np.unique(
        states[rng.choice(len(states), min(cells, len(states)), replace=False)], axis=0
    )
    cell = _nearest(states, centres)
    pairs = np.unique(data.episode_index[rows] * len(centres) + cell)
    starts = np.searchsorted(pairs // len(centres), np.arange(data.episode_count + 1))
    visited = pairs % len(centres)
    return Cells(visited, starts, len(np.unique(visited)))


def _nearest(states: np.ndarray, centres: np.ndarray, block: int = 4_096) -> np.ndarray:
    """The nearest centre of every state, by one matrix product a block."""
    norms = (centres**2).sum(axis=1)
    parts = [states[first : first + block] for first in range(0, len(states), block)]
    return np.concatenate([(norms - 2 * part @ centres.T).argmin(axis=1) for part in parts])


def _thinned_rows(data: Dataset) -> np.ndarray:
    stride = -(-len(data) // ROWS)
    step = np.arange(len(data)) - np.repeat(data.episode_starts, data.episode_lengths)
    return np.flatnonzero(step % stride == 0)
