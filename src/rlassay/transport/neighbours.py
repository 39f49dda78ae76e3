"""Nearest states with at most a few from one episode: the groups of actions `sinkhorn` transports."""

from __future__ import annotations

import functools

import numpy as np

BLOCK = 256  # anchors whose distances to the whole pool are held at once


def nearest_rows(
    states: np.ndarray, episodes: np.ndarray, anchors: np.ndarray, count: int, per_episode: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest entries of each anchor among `states`, itself first, and their distances.

    At most `per_episode` come from one episode (its own included), because successive states nearly repeat the action.
    Where episodes are too few for `count`, every anchor gets as many as there are.
    """
    available = int(np.minimum(np.unique(episodes, return_counts=True)[1], per_episode).sum())
    count = min(count, available)
    found = np.empty((len(anchors), count), np.int64)
    distances = np.empty((len(anchors), count))
    for first in range(0, len(anchors), BLOCK):
        part = slice(first, first + BLOCK)
        found[part] = _nearest_in_block(states, episodes, anchors[part], count, per_episode)
        offsets = states[found[part]] - states[anchors[part]][:, None]
        distances[part] = np.sqrt((offsets.astype(np.float64) ** 2).sum(-1))
    return found, distances


def _nearest_in_block(states, episodes, anchors, count, per_episode) -> np.ndarray:
    """Search among ever more candidates until every anchor has its `count`."""
    found = np.empty((len(anchors), count), np.int64)
    missing = np.arange(len(anchors))
    candidates = 8 * count
    while len(missing):
        candidates = min(candidates, len(states))
        nearest = _candidates(states, anchors[missing], candidates)
        kept = _within_cap(episodes[nearest], per_episode)
        enough = kept.sum(axis=1) >= count
        chosen = kept[enough] & (np.cumsum(kept[enough], axis=1) <= count)
        found[missing[enough]] = nearest[enough][chosen].reshape(-1, count)
        missing = missing[~enough]
        candidates *= 8
    return found


def _within_cap(episodes: np.ndarray, per_episode: int) -> np.ndarray:
    """True for the first `per_episode` entries of every episode in each row."""
    order = np.argsort(episodes, axis=1, kind="stable")
    in_order = np.take_along_axis(episodes, order, axis=1)
    columns = np.broadcast_to(np.arange(episodes.shape[1]), episodes.shape)
    new = np.ones(episodes.shape, bool)
    new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    run_start = np.maximum.accumulate(np.where(new, columns, 0), axis=1)
    kept = np.empty(episodes.shape, bool)
    np.put_along_axis(kept, order, columns - run_start < per_episode, axis=1)
    return kept


def _candidates(states: np.ndarray, anchors: np.ndarray, count: int) -> np.ndarray:
    """The `count` nearest entries of each anchor, nearest first; the anchor itself leads."""
    padded = np.concatenate([anchors, np.repeat(anchors[:1], BLOCK - len(anchors))])
    return np.asarray(_search()(states, padded, count))[: len(anchors)]


@functools.cache
def _search():
    import jax
    import jax.numpy as jnp

    def search(states, anchors, count):
        squares = (states**2).sum(-1)
        closeness = 2 * states[anchors] @ states.T - squares
        closeness = closeness.at[jnp.arange(len(anchors)), anchors].set(jnp.inf)
        return jax.lax.top_k(closeness, count)[1]

    return jax.jit(search, static_argnums=2)
