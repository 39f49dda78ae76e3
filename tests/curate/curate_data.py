"""Small datasets and tables whose right curation is plain to see."""

import numpy as np

from rlassay.data.dataset import Dataset, Origin
from rlassay.results.episode_table import EpisodeTable


def made_dataset(
    lengths=(4, 5, 6, 3), terminal=(0, 2), seed=0, level=None, rewards=True
) -> Dataset:
    """Random walks; episodes in `terminal` end the task, the others time out. `level` is the mean reward of each."""
    rng = np.random.default_rng(seed)
    rows, starts = sum(lengths), np.cumsum([0, *lengths[:-1]])
    ends = np.cumsum(lengths) - 1
    level = np.arange(len(lengths)) if level is None else np.asarray(level)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    terminals, timeouts = np.zeros(rows, bool), np.zeros(rows, bool)
    terminals[ends[list(terminal)]] = True
    timeouts[ends] = ~terminals[ends]
    observations = rng.normal(size=(rows, 3)).astype(np.float32)
    following = np.concatenate([observations[1:], observations[-1:]])
    following[ends] = rng.normal(size=(len(lengths), 3))
    return Dataset.from_columns(
        observations=observations,
        actions=rng.uniform(-1, 1, (rows, 2)).astype(np.float32),
        rewards=(level[episode] + 0.01 * rng.normal(size=rows)).astype(np.float32)
        if rewards
        else None,
        terminals=terminals,
        timeouts=timeouts,
        next_observations=following,
        episode_starts=starts,
        origin=Origin(
            env_id="Hopper-v5",
            action_low=np.full(2, -1, np.float32),
            action_high=np.full(2, 1, np.float32),
            metadata={"name": "made"},
        ),
    )


def made_table(**scores) -> EpisodeTable:
    """A table of episodes of length 10; `pd` and `bc_surprise` are better when lower."""
    count = len(next(iter(scores.values())))
    columns = {name: np.asarray(values, np.float64) for name, values in scores.items()}
    return EpisodeTable(
        start=np.arange(count) * 10,
        length=np.full(count, 10),
        scores=columns,
        directions={"pd": "lower", "bc_surprise": "lower"},
    )


def assert_same_data(left: Dataset, right: Dataset) -> None:
    """Every column and every episode border equal."""
    assert left.fingerprint == right.fingerprint
    assert np.array_equal(left.episode_starts, right.episode_starts)
    for name in (
        "observations",
        "actions",
        "rewards",
        "next_observations",
        "terminals",
        "timeouts",
    ):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name
