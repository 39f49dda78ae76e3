"""Coverage: the share each episode has in it, and the greedy choice against all choices."""

import itertools

import numpy as np
from curate_data import made_dataset

from rlassay.curation.diversity import greedy_choice
from rlassay.data.cells import Cells, visited_cells


def random_cells(rng, episodes, cells):
    parts = [np.flatnonzero(rng.random(cells) < 0.3) for _ in range(episodes)]
    visited = np.concatenate(parts)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Cells(visited, starts, len(np.unique(visited)))


def goal(cells, quality, chosen, diversity):
    covered = np.unique(np.concatenate([cells.of(episode) for episode in chosen]))
    part = (1 - diversity) * quality[list(chosen)].sum() / len(chosen)
    return part + diversity * len(covered) / cells.count


def test_shares_sum_to_one_and_an_only_visitor_has_its_cell_alone():
    cells = Cells(np.array([0, 1, 0, 2]), np.array([0, 2, 3, 4]), 3)
    shares = cells.shares()
    assert np.allclose(shares, [(1 / 2 + 1) / 3, (1 / 2) / 3, 1 / 3])


def test_the_share_is_the_shapley_value_of_coverage():
    rng = np.random.default_rng(1)
    cells = random_cells(rng, 5, 12)
    gains = np.zeros(5)
    orders = list(itertools.permutations(range(5)))
    for order in orders:
        covered = set()
        for episode in order:
            new = set(cells.of(episode).tolist()) - covered
            gains[episode] += len(new)
            covered |= new
    assert np.allclose(cells.shares(), gains / len(orders) / cells.count)


def test_greedy_equals_the_greedy_choice_without_a_heap():
    rng = np.random.default_rng(2)
    cells, quality = random_cells(rng, 40, 60), rng.random(40)
    chosen: list[int] = []
    for _ in range(10):
        rest = [e for e in range(40) if e not in chosen]
        gains = [_gain(cells, quality, chosen, e, 10, 0.6) for e in rest]
        chosen.append(rest[int(np.argmax(gains))])
    assert greedy_choice(quality, cells, np.ones(40), 10, 0.6).tolist() == chosen


def _gain(cells, quality, chosen, episode, count, diversity):
    covered = set(np.concatenate([cells.of(e) for e in chosen]).tolist()) if chosen else set()
    new = len(set(cells.of(episode).tolist()) - covered)
    return (1 - diversity) * quality[episode] / count + diversity * new / cells.count


def test_greedy_reaches_its_promised_share_of_the_optimum():
    rng = np.random.default_rng(3)
    for _ in range(5):
        cells, quality = random_cells(rng, 9, 20), rng.random(9)
        best = max(goal(cells, quality, c, 0.5) for c in itertools.combinations(range(9), 3))
        found = goal(
            cells, quality, greedy_choice(quality, cells, np.ones(9), 3, 0.5).tolist(), 0.5
        )
        assert (1 - 1 / np.e) * best <= found <= best + 1e-12


def test_episodes_in_one_place_share_cells_and_a_lone_one_does_not():
    data = made_dataset(lengths=(50, 50, 50), terminal=())
    moved = data.observations.copy()
    moved[100:] += 40
    far = type(data).from_columns(
        observations=moved,
        actions=data.actions,
        rewards=data.rewards,
        terminals=data.terminals,
        timeouts=data.timeouts,
        episode_starts=data.episode_starts,
    )
    cells = visited_cells(far, cells=30)
    assert not set(cells.of(2)) & (set(cells.of(0)) | set(cells.of(1)))
    assert set(cells.of(0)) & set(cells.of(1))
    shares = cells.shares()
    assert np.isclose(shares.sum(), 1) and np.isclose(shares[2], len(cells.of(2)) / cells.count)


def test_every_state_goes_to_its_nearest_centre():
    from rlassay.data.cells import _nearest

    rng = np.random.default_rng(4)
    states, centres = rng.normal(size=(5_000, 4)), rng.normal(size=(20, 4))
    distances = ((states[:, None] - centres) ** 2).sum(axis=2)
    assert np.array_equal(_nearest(states, centres), distances.argmin(axis=1))
