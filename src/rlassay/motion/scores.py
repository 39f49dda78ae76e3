"""The registry of scores that need no reward: a dict of functions of a `Motion`, each with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlassay.errors import SettingsError
from rlassay.motion.agreement import disagreement
from rlassay.motion.ends import outlying_end, outlying_start, success
from rlassay.motion.information import mutual_information
from rlassay.motion.length import adjust_for_length
from rlassay.motion.likeness import distinctness
from rlassay.motion.pauses import frozen, idle, saturation, stalled
from rlassay.motion.smoothness import jitter, smoothness, tremor
from rlassay.motion.tasks import task_mismatch
from rlassay.motion.tracking import lag_error, tracking_error
from rlassay.motion.trajectories import Motion
from rlassay.words import suggest

Direction = Literal["higher", "lower"]
ADJUSTED = ".adjusted"  # suffix of a score without what it owes to the episode's length


@dataclass(frozen=True)
class EpisodeScore:
    """One score of an episode: what it is called, what it says, and which way is better."""

    title: str
    meaning: str
    direction: Direction
    function: Callable[[Motion], np.ndarray]
    grain: float = 0.0  # a smaller difference is of no interest, however rare


EPISODE_SCORES: dict[str, EpisodeScore] = {
    "disagreement": EpisodeScore(
        "Disagreement",
        "squared distance of actions from those of other episodes at like states, of the actions' variance",
        "lower",
        disagreement,
        0.05,
    ),
    "mutual_information": EpisodeScore(
        "Mutual information",
        "how much the actions depend on the states, in nats (DemInf)",
        "higher",
        mutual_information,
        0.1,
    ),
    "smoothness": EpisodeScore(
        "Smoothness",
        "spectral arc length of the speed (SPARC); nearer to 0 is smoother",
        "higher",
        smoothness,
        0.1,
    ),
    "tremor": EpisodeScore(
        "Tremor",
        "share of the actions' power above a quarter of the sampling rate; 0.5 is white noise",
        "lower",
        tremor,
        0.01,
    ),
    "jitter": EpisodeScore(
        "Jitter",
        "share of the states' power above a quarter of the sampling rate; 0.5 is white noise",
        "lower",
        jitter,
        0.01,
    ),
    "tracking_error": EpisodeScore(
        "Tracking error",
        "1 minus the correlation of commands and changes of state at the best lag",
        "lower",
        tracking_error,
        0.02,
    ),
    "lag_error": EpisodeScore(
        "Lag error",
        "steps between this episode's lag of state behind action and the usual lag",
        "lower",
        lag_error,
        0.4,
    ),
    "idle": EpisodeScore(
        "Idle", "share of steps in which neither state nor action moves", "lower", idle, 0.02
    ),
    "stalled": EpisodeScore(
        "Stalled",
        "share of steps in which the action changes and no state does",
        "lower",
        stalled,
        0.02,
    ),
    "frozen": EpisodeScore(
        "Frozen joints",
        "share of joint-steps in which a joint hangs while another one moves",
        "lower",
        frozen,
        0.01,
    ),
    "saturation": EpisodeScore(
        "Saturation", "share of steps with an action at its bound", "lower", saturation, 0.02
    ),
    "outlying_start": EpisodeScore(
        "Outlying start",
        "distance of the first state from other first states; 1 is usual",
        "lower",
        outlying_start,
        0.3,
    ),
    "outlying_end": EpisodeScore(
        "Outlying end",
        "distance of the last state from other last states; 1 is usual",
        "lower",
        outlying_end,
        0.3,
    ),
    "distinctness": EpisodeScore(
        "Distinctness",
        "distance of the course to the nearest other episode's; 0 is a repetition, 1 is usual",
        "higher",
        distinctness,
        0.1,
    ),
    "task_mismatch": EpisodeScore(
        "Task mismatch",
        "share of the 8 episodes with the nearest courses that carry another task's label",
        "lower",
        task_mismatch,
        0.1,
    ),
    "success": EpisodeScore("Success", "1 where the file marks a success", "higher", success, 1.0),
}
UNADJUSTED = ("success",)  # a mark, not a measurement
OF_LABELS = ("success", "task_mismatch")  # ask for labels beside the columns, which few files have


def known_names() -> list[str]:
    """Every score, raw and adjusted for length."""
    adjusted = [f"{name}{ADJUSTED}" for name in EPISODE_SCORES if name not in UNADJUSTED]
    return [*EPISODE_SCORES, *adjusted]


def episode_score(name: str) -> EpisodeScore:
    """The score behind a name; the adjusted form has the direction of the raw one."""
    if name not in known_names():
        meant = suggest(name, known_names())
        raise SettingsError(f"unknown episode score{meant}", allowed=known_names(), got=name)
    return EPISODE_SCORES[name.removesuffix(ADJUSTED)]


def described(name: str) -> dict[str, str]:
    """Title, meaning and direction of a score, as results tell them."""
    spec = episode_score(name)
    adjusted = ", adjusted for length" if name.endswith(ADJUSTED) else ""
    return {
        "title": spec.title + adjusted,
        "meaning": spec.meaning + adjusted,
        "direction": spec.direction,
    }


def measure(motion: Motion, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The named scores of every episode, all of them without names; NaN where one is unknown."""
    wanted = known_names() if names is None else list(dict.fromkeys(names))
    raw: dict[str, np.ndarray] = {}
    columns: dict[str, np.ndarray] = {}
    for name in wanted:
        spec, base = episode_score(name), name.removesuffix(ADJUSTED)
        if base not in raw:
            raw[base] = np.asarray(spec.function(motion), np.float64)
        plain = name == base
        columns[name] = raw[base] if plain else adjust_for_length(raw[base], motion.lengths)
    return columns


def goodness(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """The score turned so that higher is better."""
    return columns[name] if episode_score(name).direction == "higher" else -columns[name]
