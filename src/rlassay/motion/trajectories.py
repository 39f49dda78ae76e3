"""Episodes as plain arrays: what every score of a demonstration reads."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlassay.data.dataset import Dataset

SUCCESS = ("success", "is_success", "next.success", "infos/success", "infos/is_success")
TASKS = ("task_index", "task", "infos/task_index")
TIMES = ("timestamp", "timestamps", "infos/timestamp")
LEAST_OF_DEVIATION = 0.3  # a column's scale is at least this part of its standard deviation


@dataclass(frozen=True, eq=False)
class Motion:
    """States and actions of several episodes, joined; row `starts[e]` is the first of episode e."""

    states: np.ndarray  # (rows, dimensions), finite
    actions: np.ndarray  # (rows, dimensions), finite; a discrete action is a one-hot vector
    starts: np.ndarray
    low: np.ndarray | None = None  # bounds of the actions, where the source names them
    high: np.ndarray | None = None
    rate: float | None = None  # frames a second, where timestamps or the file tell it
    tasks: np.ndarray | None = None  # a label for every episode
    success: np.ndarray | None = None  # 1 or 0 for every episode
    cautions: tuple[str, ...] = ()
    discrete: bool = False

    @functools.cached_property
    def stops(self) -> np.ndarray:
        return np.append(self.starts[1:], len(self.states))

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return self.stops - self.starts

    @functools.cached_property
    def episode(self) -> np.ndarray:
        """The episode of every row."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @property
    def count(self) -> int:
        return len(self.starts)

    def rows(self) -> Iterator[slice]:
        """The rows of each episode."""
        return (slice(a, b) for a, b in zip(self.starts.tolist(), self.stops.tolist(), strict=True))

    @functools.cached_property
    def scaled_states(self) -> np.ndarray:
        """Columns that change, centred and in units of their spread."""
        return scaled(self.states)

    @functools.cached_property
    def scaled_actions(self) -> np.ndarray:
        return scaled(self.actions)

    @functools.cached_property
    def inside(self) -> np.ndarray:
        """True for every row but the last of an episode: its successor is the next row."""
        inside = np.ones(len(self.states), bool)
        inside[self.stops - 1] = False
        return inside


def spread(columns: np.ndarray) -> np.ndarray:
    """Robust scale of each column: its quartiles' distance as a normal deviation; 0 where it never changes.

    A column that rests most of the time and jumps now and then keeps a part of its standard deviation.
    """
    low, high = np.percentile(columns, [25, 75], axis=0)
    deviation = columns.std(axis=0)
    return np.maximum((high - low) / 1.349, LEAST_OF_DEVIATION * deviation)


def scaled(columns: np.ndarray) -> np.ndarray:
    """The columns that change, minus their median, in units of `spread`."""
    scale = spread(columns)
    live = (scale > 0) & (np.ptp(columns, axis=0) > 0)
    return (columns[:, live] - np.median(columns[:, live], axis=0)) / scale[live]


def principal(columns: np.ndarray, most: int) -> np.ndarray:
    """At most `most` coordinates: the directions of largest variance, where there are more columns."""
    if columns.shape[1] <= most:
        return columns
    centred = columns - columns.mean(axis=0)
    covariance = centred.T @ centred / max(1, len(centred) - 1)
    _, directions = np.linalg.eigh(covariance)
    return centred @ directions[:, ::-1][:, :most]


def neighbours(points: np.ndarray, asked: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and numbers of the k nearest points, one row for each that is asked."""
    from scipy.spatial import KDTree

    distance, found = KDTree(points).query(asked, k=k, workers=-1)
    return np.reshape(distance, (len(asked), k)), np.reshape(found, (len(asked), k))


def thinned(motion: Motion, most: int, least: int = 4) -> np.ndarray:
    """At most about `most` rows, evenly inside episodes; every episode keeps `least` rows if it has them."""
    if len(motion.states) <= most:
        return np.arange(len(motion.states))
    share = most / len(motion.states)
    wanted = np.minimum(motion.lengths, np.maximum(least, np.round(motion.lengths * share)))
    parts = [
        start + np.linspace(0, length - 1, int(number)).round().astype(int)
        for start, length, number in zip(motion.starts, motion.lengths, wanted, strict=True)
    ]
    return np.concatenate(parts)


def episode_means(episode: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Mean of the values of each episode, NaN where it has none."""
    sums = np.bincount(episode, values, minlength=count)
    seen = np.bincount(episode, minlength=count)
    return np.divide(sums, seen, out=np.full(count, np.nan), where=seen > 0)


def motion_of(data: Dataset) -> Motion:
    """The motion in a dataset, with what its file says about time, tasks and success."""
    data = data.in_memory()
    states, state_cautions = _finite(np.asarray(data.observations, np.float64), "observations")
    plain = _one_hot(data.actions) if data.discrete_actions else data.actions
    actions, action_cautions = _finite(np.asarray(plain, np.float64), "actions")
    low, high, named = data.action_bounds()
    rate, time_cautions = _rate(data)
    bounded = named and not data.discrete_actions
    return Motion(
        states=states,
        actions=actions,
        starts=np.asarray(data.episode_starts),
        low=np.asarray(low, np.float64) if bounded else None,
        high=np.asarray(high, np.float64) if bounded else None,
        rate=rate,
        tasks=_of_episodes(data, TASKS, last=False),
        success=_success(data),
        cautions=(*state_cautions, *action_cautions, *time_cautions),
        discrete=bool(data.discrete_actions),
    )


def _finite(columns: np.ndarray, name: str) -> tuple[np.ndarray, list[str]]:
    bad = ~np.isfinite(columns)
    if not bad.any():
        return columns, []
    rows = int(bad.any(axis=1).sum())
    known = np.where(bad, np.nan, columns)
    empty = bad.all(axis=0)
    known[:, empty] = 0.0
    filled = np.where(np.isnan(known), np.nanmedian(known, axis=0), known)
    return filled, [
        f"{rows:,} rows of the {name} hold NaN or infinity; their column's median took the place"
    ]


def _one_hot(actions: np.ndarray) -> np.ndarray:
    """One column for each value of each discrete coordinate."""
    parts = [
        (column[:, None] == np.unique(column)).astype(np.float64)
        for column in np.asarray(actions).T
    ]
    return np.concatenate(parts, axis=1)


def _extra(data: Dataset, names: tuple[str, ...]) -> np.ndarray | None:
    for name in names:
        array = data.origin.extras.get(name)
        if array is not None and np.shape(array)[:1] in ((len(data),), (data.episode_count,)):
            return np.asarray(array).reshape(len(array), -1)[:, 0]
    return None


def _of_episodes(data: Dataset, names: tuple[str, ...], last: bool) -> np.ndarray | None:
    """A label of every episode: its own, or that of its first or last row."""
    values = _extra(data, names)
    if values is None or len(values) == data.episode_count:
        return values
    return values[data.episode_stops - 1] if last else values[data.episode_starts]


def _success(data: Dataset) -> np.ndarray | None:
    """An episode succeeded when any of its rows says so."""
    values = _extra(data, SUCCESS)
    if values is None or values.dtype.kind not in "biuf":
        return None
    flags = (np.nan_to_num(values.astype(np.float64)) > 0).astype(np.float64)
    if len(flags) == data.episode_count:
        return flags
    return np.maximum.reduceat(flags, data.episode_starts)


def _rate(data: Dataset) -> tuple[float | None, list[str]]:
    """Frames a second from timestamps or the file's `fps`; without them time is counted in steps."""
    times = _extra(data, TIMES)
    fps = data.origin.metadata.get("fps")
    stated = float(fps) if isinstance(fps, int | float) and fps > 0 else None
    if times is None or len(times) != len(data) or times.dtype.kind not in "iuf" or len(times) < 3:
        missing = "the data has no timestamps, so times are counted in steps"
        return stated, [] if stated else [missing]
    steps = np.diff(times.astype(np.float64))[np.diff(data.episode_index) == 0]
    steps = steps[np.isfinite(steps)]
    typical = float(np.median(steps)) if len(steps) else 0.0
    if typical <= 0:
        return stated, ["the timestamps do not advance, so times are counted in steps"]
    uneven = int((np.abs(steps - typical) > 0.5 * typical).sum())
    told = f"{uneven:,} steps between frames differ from the usual {typical:g} by more than half"
    return 1.0 / typical, [told] if uneven else []
