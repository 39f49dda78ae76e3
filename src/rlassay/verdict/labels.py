"""Labels and advice, defined by outcomes in docs/verdict.md; the same table serves outcomes and forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Label = Literal[
    "near-random",
    "weak",
    "mixed",
    "consistent",
    "expert-like",
    "too-small",
    "not-rankable",
    "outside-calibration",
]
Action = Literal["clone", "offline-rl", "clone-best-part", "collect-more", "repair"]

LEAST_TRANSITIONS, LEAST_EPISODES = 1_000, 10
RANDOM_BELOW = 10.0  # points of the normalised score
WEAK_BELOW = 40.0
EXPERT_FROM = 80.0
AGREE_WITHIN = 10.0
WORTH_IT = 5.0  # points by which an action must be ahead to be advised


@dataclass(frozen=True)
class Reached:
    """What agents reach, or are forecast to reach, in points; `best_part` is cloning on the part worth keeping."""

    cloning: float
    offline_rl: float
    best: float
    best_part: float | None = None


def label_of(reached: Reached, several_modes: bool) -> Label:
    """The first row of the table that holds."""
    gain = reached.offline_rl - reached.cloning
    if reached.best < RANDOM_BELOW:
        return "near-random"
    if gain >= AGREE_WITHIN or several_modes:
        return "mixed"
    if reached.cloning >= EXPERT_FROM and abs(gain) < AGREE_WITHIN:
        return "expert-like"
    if max(reached.cloning, reached.offline_rl) < WEAK_BELOW:
        return "weak"
    return "consistent"


def own_label(reached: Reached, several_modes: bool) -> Label:
    """The label without reference returns: `reached` holds shares of the file's own episodes that are worse, in percent.

    How far a return lies from random or expert behaviour cannot be told, so only agreement is.
    """
    ahead = reached.offline_rl - reached.cloning >= AGREE_WITHIN
    return "mixed" if ahead or several_modes else "consistent"


def size_label(transitions: int, episodes: int) -> Label | None:
    """`too-small` where nothing can be forecast."""
    few = transitions < LEAST_TRANSITIONS or episodes < LEAST_EPISODES
    return "too-small" if few else None


def action_of(label: Label, reached: Reached | None, rewarded: bool = True) -> Action:
    """What to do next; `repair` is decided by the inspection, before this is asked. Without rewards one can still clone."""
    if label == "not-rankable" and not rewarded:
        return "clone"
    if label in ("too-small", "near-random", "not-rankable") or reached is None:
        return "collect-more"
    best_part = reached.best_part
    if best_part is not None and best_part - max(reached.cloning, reached.offline_rl) >= WORTH_IT:
        return "clone-best-part"
    return "offline-rl" if reached.offline_rl - reached.cloning >= WORTH_IT else "clone"


def best_action(reached: Reached) -> float:
    """What the best of the three actions that can be trained reaches."""
    choices = (reached.cloning, reached.offline_rl, reached.best_part)
    return max(value for value in choices if value is not None)


def regret(action: Action, reached: Reached) -> float:
    """Points lost against the best of the three actions that can be trained."""
    choices = {
        "offline-rl": reached.offline_rl,
        "clone-best-part": reached.cloning if reached.best_part is None else reached.best_part,
    }
    return best_action(reached) - choices.get(action, reached.cloning)
