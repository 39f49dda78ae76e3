"""Sampling weights: one number a transition, as `rlassay curate --weights` writes them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError

REMEDY = "write them for this dataset with `rlassay curate --weights`"
# What NumPy raises on files that are no archive of arrays.
UNREADABLE = (
    OSError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    EOFError,
    NotImplementedError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_weights(path: Path, data: Dataset) -> np.ndarray:
    """The array `weights` of an .npz file, one entry a transition of `data`.

    A file that names the fingerprint of its dataset (`rlassay curate` writes it) is refused for any other.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            weights = np.asarray(archive["weights"], np.float64)
            made_for = str(archive["fingerprint"]) if "fingerprint" in archive else None
    except UNREADABLE:
        raise DatasetError(
            f"{path} holds no sampling weights",
            allowed="an .npz file with the numbers `weights`",
            remedy="write it with `rlassay curate --weights`",
        ) from None
    if made_for not in (None, data.fingerprint):
        raise DatasetError(
            f"{path} was written for another dataset",
            allowed=data.fingerprint,
            got=made_for,
            remedy=REMEDY,
        )
    return weights


def probabilities(weights: np.ndarray | None, count: int, rows: np.ndarray) -> np.ndarray | None:
    """Sampling probabilities of the rows an agent uses; None for all alike."""
    if weights is None:
        return None
    weights = np.asarray(weights, np.float64)
    if weights.shape != (count,):
        raise DatasetError(
            "weights do not fit the dataset",
            allowed=f"({count},)",
            got=str(weights.shape),
            remedy=REMEDY,
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or weights[rows].sum() <= 0:
        raise DatasetError(
            "weights are no probabilities",
            allowed="finite, not negative, not all zero",
            remedy=REMEDY,
        )
    return weights[rows] / weights[rows].sum()
