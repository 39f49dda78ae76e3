"""Sums along episodes in NumPy, float64, linear in the number of rows: discounted returns and lambda-returns."""

from __future__ import annotations

import numpy as np


def sums_along(values: np.ndarray, starts: np.ndarray, factor: float) -> np.ndarray:
    """y[t] = values[t] + factor * y[t + 1] within each episode, and y = values at its last row.

    By doubling: after k rounds y[t] holds the sum over the next 2^k rows, so a few rounds over all rows replace a loop
    over time. It ends when an episode is covered or the weight has vanished.
    """
    total = np.array(values, np.float64)
    left = rows_left(starts, len(total))
    reach, weight = 1, float(factor)
    while reach < left.max(initial=0) and weight > 1e-20:
        ahead = np.where(left[:-reach] > reach, total[reach:], 0.0)
        total[:-reach] += weight * ahead
        reach, weight = 2 * reach, weight * weight
    return total


def rows_left(starts: np.ndarray, rows: int) -> np.ndarray:
    """How many rows remain in the episode, the row itself included."""
    stops = np.append(starts[1:], rows)
    return np.repeat(stops, stops - starts) - np.arange(rows)


def constant_bootstrap(
    rewards: np.ndarray, starts: np.ndarray, open_end: np.ndarray, discount: float
) -> tuple[np.ndarray, float]:
    """Returns whose unfinished episodes continue with one constant, the mean of these same returns.

    `open_end` is True for each row of an episode that was cut, not ended. The returns are affine in the constant, so
    the constant that equals their mean is known in closed form. Shifting or scaling rewards shifts or scales it along.
    """
    finished = sums_along(rewards, starts, discount)
    weight = np.where(open_end, discount ** rows_left(starts, len(rewards)), 0.0)
    constant = float(finished.mean() / (1.0 - weight.mean()))
    return finished + weight * constant, constant


def lambda_returns(
    rewards: np.ndarray,
    following: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    discount: float,
    trace_decay: float,
) -> np.ndarray:
    """G[t] = r[t] + discount * ((1 - lambda) * following[t] + lambda * G[t + 1]), and `ends` at each last row.

    `following[t]` is the critic's value of the next row; `ends` holds one value an episode: what its last row is worth.
    """
    mixed = rewards + discount * (1.0 - trace_decay) * following
    last = np.append(starts[1:], len(rewards)) - 1
    mixed[last] = ends
    return sums_along(mixed, starts, discount * trace_decay)
