"""The result of every transport estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TransportResult:
    """A transport value with what is needed to judge it.

    `integrand` has one entry an evaluated state, `rows` names the states' rows; the mean of the integrand is `value`.
    The sign of the cost is applied: for cost `sup` value and integrand are minus the transport's.
    """

    value: float
    estimator: str
    cost: str
    epsilon: float  # absolute, as used
    n: int  # evaluated states
    converged: bool | None
    integrand: np.ndarray
    rows: np.ndarray | None = None
    diagnosis: Mapping[str, Any] = field(default_factory=dict)  # JSON values
    curve: Mapping[str, list] = field(default_factory=dict)  # `step` and `value` while training
