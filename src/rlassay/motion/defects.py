"""Faults put into good demonstrations on purpose, with a mask that tells where: the ground of the defect benchmark.

Only columns are changed, nothing is simulated: noise on an action is what a wrong record of it looks like, not what the
robot would have done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlassay.data.dataset import COLUMNS, Dataset
from rlassay.errors import SettingsError

Part = dict[str, np.ndarray | None]  # the columns of one episode
LEVELS = ("weak", "middle", "strong")
SHARE = 0.3  # of the episodes
STREAM = 74


@dataclass(frozen=True)
class Scale:
    """What a fault is measured by: deviations and middles of the columns of the whole dataset."""

    states: np.ndarray
    actions: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Defect:
    """A fault of one episode, at three strengths."""

    meaning: str
    strengths: tuple[float, float, float]
    function: Callable[[Part, float, Scale, np.random.Generator], Part]


@dataclass(frozen=True)
class Defective:
    """Data with faults; `mask` is True for the episodes that have one."""

    data: Dataset
    mask: np.ndarray
    defect: str
    level: str


def _rows(part: Part) -> int:
    return len(part["actions"])  # type: ignore[arg-type]


def _relinked(part: Part) -> Part:
    """Successors follow the changed observations; that of the last row stays what it was."""
    following = np.array(part["next_observations"])
    following[:-1] = part["observations"][1:]  # type: ignore[index]
    return {**part, "next_observations": following}


def noise_on_actions(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    actions = np.asarray(part["actions"])
    noisy = actions + strength * scale.actions * rng.normal(size=actions.shape)
    return {**part, "actions": np.clip(noisy, scale.low, scale.high).astype(actions.dtype)}


def noise_on_records(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    states = np.asarray(part["observations"])
    noise = strength * scale.states * rng.normal(size=states.shape)
    return _relinked({**part, "observations": (states + noise).astype(states.dtype)})


def lag(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    """The action of `strength` steps ago stands in every row; the first one is repeated."""
    actions = np.asarray(part["actions"])
    place = np.maximum(np.arange(len(actions)) - int(strength), 0)
    return {**part, "actions": actions[place]}


def frozen_joints(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    """From a random step of the first half on, a share of the moving state columns keeps its value."""
    states = np.array(part["observations"])
    moving = np.flatnonzero(scale.states > 0)
    number = max(1, round(strength * len(moving)))
    joints = rng.permutation(moving)[:number]
    first = int(rng.integers(0, max(1, len(states) // 2)))
    states[first:, joints] = states[first, joints]
    return _relinked({**part, "observations": states})


def idle_stretch(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    """At a random step the robot waits, with its action unchanged, for a share of the episode's length."""
    rows = _rows(part)
    wait, place = max(1, round(strength * rows)), int(rng.integers(0, rows))
    order = np.concatenate([np.arange(place), np.full(wait, place), np.arange(place, rows)])
    longer = {name: None if column is None else column[order] for name, column in part.items()}
    for name in ("terminals", "timeouts"):
        flags = np.array(longer[name])
        flags[:-1] = False
        longer[name] = flags
    longer["next_valid"] = np.append(
        np.ones(len(order) - 1, bool), np.asarray(part["next_valid"])[-1]
    )
    return _relinked(longer)


def cut_start(part: Part, strength: float, scale: Scale, rng: np.random.Generator) -> Part:
    """The recording began late: a share of the first rows is missing."""
    first = min(_rows(part) - 1, max(1, round(strength * _rows(part))))
    return {name: None if column is None else column[first:] for name, column in part.items()}


DEFECTS: dict[str, Defect] = {
    "noise_on_actions": Defect(
        "noise on the recorded actions, of their deviation", (0.1, 0.3, 1.0), noise_on_actions
    ),
    "noise_on_records": Defect(
        "noise on the observations, of their deviation", (0.05, 0.15, 0.5), noise_on_records
    ),
    "lag": Defect("actions recorded this many steps late", (1, 3, 8), lag),
    "frozen_joints": Defect("share of state columns that hang", (0.1, 0.3, 0.6), frozen_joints),
    "idle_stretch": Defect("a wait, as a share of the length", (0.1, 0.3, 0.6), idle_stretch),
    "cut_start": Defect("share of the first rows that is missing", (0.1, 0.3, 0.6), cut_start),
}
WHOLE = ("wrong_episodes", "duplicates")  # faults that replace an episode by another one
COPIES = (1, 3, 8)  # of one episode
DEFECT_NAMES = (*DEFECTS, *WHOLE)


def inject(
    data: Dataset,
    defect: str,
    level: str,
    *,
    share: float = SHARE,
    seed: int = 0,
    others: Sequence[Dataset] = (),
) -> Defective:
    """The data with `defect` in a random share of its episodes.

    `others` holds episodes of three other policies, from the most to the least alike, for `wrong_episodes`.
    """
    if defect not in DEFECT_NAMES:
        raise SettingsError("unknown defect", allowed=list(DEFECT_NAMES), got=defect)
    if level not in LEVELS:
        raise SettingsError("unknown level of a defect", allowed=list(LEVELS), got=level)
    rng = np.random.default_rng([seed, STREAM, DEFECT_NAMES.index(defect), LEVELS.index(level)])
    number = min(data.episode_count - 1, max(1, round(share * data.episode_count)))
    if number < 1:
        raise SettingsError("defects need at least two episodes", got=data.episode_count)
    chosen = np.sort(rng.permutation(data.episode_count)[:number])
    parts = _parts(data)
    strength = LEVELS.index(level)
    if defect == "wrong_episodes":
        _replace_by_others(parts, chosen, others, strength, rng)
    elif defect == "duplicates":
        _replace_by_copies(parts, chosen, COPIES[strength], rng)
    else:
        fault, scale = DEFECTS[defect], _scale(data)
        for episode in chosen:
            parts[episode] = fault.function(parts[episode], fault.strengths[strength], scale, rng)
    mask = np.zeros(data.episode_count, bool)
    mask[chosen] = True
    return Defective(_joined(parts, data), mask, defect, level)


def _scale(data: Dataset) -> Scale:
    low, high, _ = data.action_bounds()
    actions = np.asarray(data.actions, np.float64).std(axis=0)
    return Scale(data.observation_statistics[1], actions, np.asarray(low), np.asarray(high))


def _replace_by_others(
    parts: list[Part], chosen: np.ndarray, others: Sequence[Dataset], strength: int, rng
) -> None:
    if len(others) != len(LEVELS):
        raise SettingsError(
            "wrong episodes need other policies", allowed="3 datasets", got=len(others)
        )
    strangers = _parts(others[strength])
    picked = rng.integers(0, len(strangers), len(chosen))
    for episode, stranger in zip(chosen, picked, strict=True):
        parts[episode] = strangers[stranger]


def _replace_by_copies(parts: list[Part], chosen: np.ndarray, copies: int, rng) -> None:
    sound = np.setdiff1d(np.arange(len(parts)), chosen)
    sources = rng.permutation(sound)[: max(1, -(-len(chosen) // copies))]
    for place, episode in enumerate(chosen):
        parts[episode] = parts[sources[(place // copies) % len(sources)]]


def _parts(data: Dataset) -> list[Part]:
    return [{name: getattr(episode, name) for name in COLUMNS} for episode in data.episodes()]


def _joined(parts: list[Part], data: Dataset) -> Dataset:
    """One dataset again; arrays beside the columns are left behind, because rows have moved."""
    columns = {
        name: None if parts[0][name] is None else np.concatenate([part[name] for part in parts])  # type: ignore[misc]
        for name in COLUMNS
    }
    starts = np.cumsum([0, *(_rows(part) for part in parts[:-1])])
    return Dataset.from_columns(
        **columns,  # type: ignore[arg-type]
        episode_starts=starts,
        origin=replace(data.origin, notes=(), extras={}),
    )
