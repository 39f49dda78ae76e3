"""Checks of the numbers: finite, varied, inside their bounds."""

from __future__ import annotations

import functools

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.inspection.remedies import command
from rlassay.inspection.results import Check, found, passed

ROUNDING = 1e-6  # of the action range: beyond a bound by this much is arithmetic
# of the action range: beyond a bound by this much is another unit or an unclipped policy
CLEARLY = 0.01
AT_BOUND = 1e-3  # of the action range
SATURATED = 0.5  # share of action entries at a bound
NUMBERS = ("observations", "actions", "rewards", "next_observations")


def finite(data: Dataset) -> Check:
    """NaN and infinity anywhere."""
    bad = {name: not_finite(getattr(data, name)) for name in NUMBERS}
    rows = functools.reduce(np.logical_or, bad.values())
    if not rows.any():
        return passed("finite", "all numbers are finite")
    names = ", ".join(name for name in NUMBERS if bad[name].any())
    message = f"{rows.sum():,} rows hold NaN or infinity in {names}"
    remedy = f"drop these rows and cut their episodes there: {command('finite')}"
    if rows.all():
        remedy = "no row is whole: find what wrote these numbers and record again"
    return found("finite", "fail", message, remedy, np.flatnonzero(rows))


def not_finite(column: np.ndarray | None) -> np.ndarray:
    """Rows of a column with NaN or infinity."""
    if column is None or column.dtype.kind in "iu":
        return np.zeros(() if column is None else len(column), bool)
    bad = ~np.isfinite(column)
    return np.asarray(bad if bad.ndim == 1 else bad.any(axis=1))


def rewards(data: Dataset) -> Check:
    """Missing or constant rewards."""
    if data.rewards is None:
        remedy = "add rewards when recording, or use the scores that need none"
        return found("rewards", "warn", "the data has no rewards", remedy)
    low, high = data.rewards.min(), data.rewards.max()
    if low == high:
        message = f"every reward is {low:g}"
        remedy = "returns then measure length alone; check that the rewards were recorded"
        return found("rewards", "warn", message, remedy)
    zero = float(np.mean(data.rewards == 0))
    return passed("rewards", f"rewards from {low:g} to {high:g}, {zero:.0%} of them zero")


def action_bounds(data: Dataset) -> Check:
    """Actions outside the bounds that the source states."""
    low, high, stated = data.action_bounds()
    if not stated:
        message = f"the source states no bounds; the actions lie in {_range(low, high)}"
        return passed("action_bounds", message)
    excess = beyond_bounds(data)
    outside = np.flatnonzero(excess > ROUNDING)
    if len(outside) == 0:
        return passed("action_bounds", f"all actions lie in {_range(low, high)}")
    worst = float(excess.max())
    message = f"{len(outside):,} actions lie outside {_range(low, high)}, by up to {worst:.2%} of the range"
    remedy = (
        f"clip the actions: {command('action_bounds')}; or state the bounds in the data's units"
    )
    if data.discrete_actions:
        remedy = "whole numbers have no nearest bound: state the number of actions again"
    return found("action_bounds", "fail" if worst > CLEARLY else "warn", message, remedy, outside)


def beyond_bounds(data: Dataset) -> np.ndarray:
    """How far each row's actions lie outside the stated bounds, as a share of the range; negative inside."""
    low, high, _ = data.action_bounds()
    width = np.maximum(high - low, np.finfo(np.float32).tiny)
    return (np.maximum(low - data.actions, data.actions - high) / width).max(axis=1)


def _range(low: np.ndarray, high: np.ndarray) -> str:
    return f"[{np.min(low):g}, {np.max(high):g}]"


def action_saturation(data: Dataset) -> Check:
    """Actions that sit at their bounds, or at the extremes of the data."""
    if data.discrete_actions:
        return passed("action_saturation", "actions are whole numbers")
    low, high, _ = data.action_bounds()
    margin = AT_BOUND * (high - low)
    varied = high > low
    at_bound = (data.actions <= low + margin) | (data.actions >= high - margin)
    share = at_bound.mean(axis=0) * varied
    message = f"{share.mean():.0%} of the action entries are at a bound"
    if share.mean() <= SATURATED:
        return passed("action_saturation", message)
    full = np.flatnonzero(at_bound[:, varied].all(axis=1))
    remedy = (
        "check the clipping and the units of the recorder; no command restores what was cut off"
    )
    return found("action_saturation", "warn", message, remedy, full)


def dead_dimensions(data: Dataset) -> Check:
    """Dimensions that never change."""
    dead = []
    for name in ("observations", "actions"):
        column = getattr(data, name)
        constant = np.flatnonzero(column.min(axis=0) == column.max(axis=0))
        if len(constant):
            dead.append(f"{name} {', '.join(str(d) for d in constant[:20])}")
    if not dead:
        return passed("dead_dimensions", "every dimension varies")
    message = f"constant dimensions: {'; '.join(dead)}"
    return found(
        "dead_dimensions", "warn", message, "check the sensor and the recorder; record without them"
    )
