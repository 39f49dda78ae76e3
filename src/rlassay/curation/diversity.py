"""A choice of episodes that keeps the covered states while raising quality."""

from __future__ import annotations

import heapq

import numpy as np

from rlassay.data.cells import Cells


def greedy_choice(
    quality: np.ndarray, cells: Cells, sizes: np.ndarray, budget: float, diversity: float
) -> np.ndarray:
    """Episodes that maximise (1 - d) * mean quality + d * share of cells covered, one after the other.

    `sizes` is what each costs of the `budget`: 1, or its rows; the next one is that with the largest gain for its size,
    until the budget is spent. The goal is monotone and submodular (quality in [0, 1] is additive, coverage has
    diminishing returns), so with equal sizes the greedy choice reaches at least 63 % of the optimum. Gains only shrink,
    so an old gain is an upper bound and the heap looks again at few episodes. Equal gains: the earlier episode.
    """
    covered = np.zeros(int(cells.visited.max()) + 1, bool)

    def gain(episode: int) -> float:
        new = np.count_nonzero(~covered[cells.of(episode)])
        worth = (1 - diversity) * quality[episode] / budget
        return worth + diversity * new / cells.count / sizes[episode]

    heap = [(-gain(episode), episode) for episode in range(len(quality))]
    heapq.heapify(heap)
    chosen: list[int] = []
    spent = 0.0
    while heap and spent < budget:
        _, episode = heapq.heappop(heap)
        fresh = (-gain(episode), episode)
        if heap and fresh > heap[0]:
            heapq.heappush(heap, fresh)
            continue
        covered[cells.of(episode)] = True
        chosen.append(episode)
        spent += sizes[episode]
    return np.asarray(chosen)
