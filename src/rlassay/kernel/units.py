"""Actions between their bounds and [-1, 1], where every learner here lives.

There are two pairs because committed numbers came out of both and the last bit differs: agents and policies scale about
the centre, online TD3 (and the replay it keeps) from the lower bound.
"""

from __future__ import annotations

from typing import Any


def to_unit(actions: Any, low: Any, high: Any) -> Any:
    """From the bounds to [-1, 1]."""
    return (actions - (low + high) / 2) / ((high - low) / 2)


def from_unit(units: Any, low: Any, high: Any) -> Any:
    """From [-1, 1] to the bounds."""
    return (low + high) / 2 + (high - low) / 2 * units


def to_unit_from_low(actions: Any, low: Any, high: Any) -> Any:
    """`to_unit`, rounded as online TD3 does."""
    return 2 * (actions - low) / (high - low) - 1


def from_unit_from_low(units: Any, low: Any, high: Any) -> Any:
    """`from_unit`, rounded as online TD3 does."""
    return low + (high - low) * (units + 1) / 2
