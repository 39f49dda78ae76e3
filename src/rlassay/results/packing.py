"""Long columns in little room: base64 of little-endian numbers, about half of their decimal text."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np


def packed(values: np.ndarray | Sequence[float]) -> dict[str, str]:
    """A column as `{"f4": ...}`; whole numbers stay exact, as `{"i4": ...}`."""
    array = np.asarray(values, dtype=float)
    whole = bool(np.all(array == np.round(array)) and np.all(np.abs(array) < 2**31))
    kind = "i4" if whole else "f4"
    return {kind: base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}
