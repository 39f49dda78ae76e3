"""A network that chooses among numbered actions: its laws, its log-loss and the slopes it learns from, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SMOOTHING = 0.5  # of frequencies: an action that was never seen is rare, not impossible
MOST_ROWS = 8_192  # of a block: hidden layers stay small
MOST_OUTPUTS = 4_000_000  # numbers of a block of rows with an output for every action


def log_law(outputs: np.ndarray) -> np.ndarray:
    """Logarithms of the softmax of each row, float64."""
    shifted = outputs.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def log_loss(outputs: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """-log of the probability of what was chosen, row by row."""
    return -of_chosen(log_law(outputs), chosen)


def of_chosen(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The entry of each row at the place that was chosen."""
    return values[np.arange(len(values)), chosen]


def law_slope(outputs: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The slope of the mean log-loss by the outputs: law minus what was chosen, over the rows."""
    slope = outputs - outputs.max(axis=1, keepdims=True)
    np.exp(slope, out=slope)
    slope /= slope.sum(axis=1, keepdims=True)
    slope[np.arange(len(slope)), chosen] -= 1
    slope *= np.float32(1 / len(slope))
    return slope


def squared_slope(outputs: np.ndarray, chosen: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The slope of the mean squared error of the chosen outputs: zero at all others."""
    slope = np.zeros_like(outputs)
    error = of_chosen(outputs, chosen) - wanted
    slope[np.arange(len(slope)), chosen] = error * np.float32(2 / len(slope))
    return slope


def frequency_loss(seen: np.ndarray, chosen: np.ndarray, size: int) -> np.ndarray:
    """Log-loss of the frequencies among `seen`: the best answer that ignores the state."""
    counts = np.bincount(seen, minlength=size) + SMOOTHING
    return -np.log(counts / counts.sum())[chosen]


def blocks(rows: int, size: int) -> Iterator[slice]:
    """Parts of the rows, of which each has at most `MOST_ROWS`, and `MOST_OUTPUTS` outputs."""
    step = max(1, min(MOST_ROWS, MOST_OUTPUTS // max(1, size)))
    return (slice(first, first + step) for first in range(0, rows, step))
