"""Weights of transitions: how often a learner should see each row instead of dropping some.

Every kind is a softmax over rows with a temperature, scaled to mean 1. Low temperatures follow the best rows alone, high
ones weigh all rows alike.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError, SettingsError

# The default temperatures. Returns are scaled to [0, 1] first, as in Hong et al. (2023); advantages and value gaps are
# divided by their deviation.
TEMPERATURES = {"return": 0.1, "advantage": 1.0, "value-gap": 1.0}
LARGEST_RATIO = 100.0  # of a row's weight to that of a row of mean advantage or gap


@dataclass(frozen=True)
class Weights:
    """One weight a transition, mean 1, for the dataset with this fingerprint."""

    values: np.ndarray
    kind: str
    temperature: float
    fingerprint: str

    @property
    def effective_share(self) -> float:
        """Kish's effective sample size over the number of rows: 1 when all weights are equal."""
        return float(self.values.sum() ** 2 / (self.values**2).sum() / len(self.values))


def weigh(
    data: Dataset, kind: str, worth: np.ndarray | None, temperature: float | None = None
) -> Weights:
    """Weights by `return` (of each row's episode), or by `worth`: each row's advantage or value gap."""
    if kind not in TEMPERATURES:
        raise SettingsError("unknown kind of weights", allowed=list(TEMPERATURES), got=kind)
    temperature = TEMPERATURES[kind] if temperature is None else temperature
    if not (temperature > 0 and np.isfinite(temperature)):
        raise SettingsError("temperature is out of range", allowed="above 0", got=temperature)
    if kind == "return":
        exponent = _unit_range(data.episode_returns)[data.episode_index] / temperature
    else:
        exponent = _standardised(_checked(worth, kind, len(data))) / temperature
        exponent = np.minimum(exponent, np.log(LARGEST_RATIO))
    raw = np.exp(exponent - exponent.max())
    return Weights(
        (raw / raw.mean()).astype(np.float32), kind, float(temperature), data.fingerprint
    )


def _checked(worth: np.ndarray | None, kind: str, rows: int) -> np.ndarray:
    if worth is None or np.shape(worth) != (rows,) or not np.isfinite(worth).all():
        raise DatasetError(f"weights by {kind} need one finite value a row")
    return np.asarray(worth, np.float64)


def _unit_range(values: np.ndarray) -> np.ndarray:
    span = values.max() - values.min()
    return (values - values.min()) / span if span > 0 else np.zeros(len(values))


def _standardised(values: np.ndarray) -> np.ndarray:
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation > 0 else np.zeros(len(values))


def write_weights(path: str | Path, weights: Weights, like: Path | None = None) -> None:
    """An `.npz` with `weights`, `kind`, `temperature` and `fingerprint`, for `rlassay train --weights`."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        weights=weights.values,
        kind=np.asarray(weights.kind),
        temperature=np.asarray(weights.temperature),
        fingerprint=np.asarray(weights.fingerprint),
    )
    write_atomically(Path(path), buffer.getvalue(), like=like)
