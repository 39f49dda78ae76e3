"""What can be said about all episodes together, each finding as a sentence that names numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rlassay.motion.enough import LearningCurve
from rlassay.motion.joints import Joints
from rlassay.motion.modes import Modes
from rlassay.motion.scores import EPISODE_SCORES
from rlassay.motion.tasks import OTHER_TASK
from rlassay.motion.tracking import track
from rlassay.motion.trajectories import Motion

SHOWN = 12  # numbers of episodes in a sentence
UNLEARNT = 0.9  # error from which a regressor knows hardly more than the mean action
BOUND_TO_LENGTH = 0.7  # rank correlation with length from which a score is said to follow it
Status = Literal["good", "look", "unknown"]


@dataclass(frozen=True)
class Finding:
    """One sentence about the dataset; `look` asks for a second look."""

    code: str
    status: Status
    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "status": self.status, "message": self.message}


def listed(numbers: Iterable[int]) -> str:
    """`0, 3, 7`, and how many more."""
    numbers = [int(number) for number in numbers]
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return ", ".join(str(number) for number in numbers[:SHOWN]) + more


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def of_modes(modes: Modes | None, count: int) -> Finding:
    if modes is None:
        return Finding(
            "modes",
            "unknown",
            f"{counted(count, 'episode')}: too few to tell one mode from several",
        )
    stray = np.flatnonzero(modes.labels < 0)
    apart = f"; like no other: {listed(stray)}" if len(stray) else ""
    if modes.count <= 1:
        message = f"the {count:,} episodes show one way of doing the task{apart}"
        return Finding("modes", "look" if len(stray) else "good", message)
    groups = [
        f"{len(members)} ({listed(members)})"
        for members in (modes.members(mode) for mode in range(modes.count))
    ]
    message = (
        f"the episodes fall into {modes.count} modes: {'; '.join(groups)}{apart} "
        f"(silhouette {modes.silhouette:.2f}, at most {modes.by_chance:.2f} by chance)"
    )
    return Finding("modes", "look", message)


def of_curve(curve: LearningCurve | None, count: int) -> Finding:
    if curve is None:
        return Finding(
            "enough",
            "unknown",
            f"{counted(count, 'episode')}: too few, or too constant, for a learning curve",
        )
    if curve.mean[-1] > UNLEARNT:
        message = (
            f"held-out action error is {curve.mean[-1]:.3g} with {curve.episodes[-1]} episodes, where 1 is the mean "
            "action's: these actions can hardly be told from the states"
        )
        return Finding("enough", "look", message)
    low, high = curve.interval
    message = (
        f"held-out action error falls from {curve.mean[0]:.3g} with {curve.episodes[0]} episodes to "
        f"{curve.mean[-1]:.3g} with {curve.episodes[-1]}; twice as many are expected to reach "
        f"{curve.doubled:.3g} [{low:.3g}, {high:.3g}], a gain of {100 * curve.gain:.0f} %"
    )
    return Finding("enough", "good" if curve.enough else "look", message)


def of_tracking(motion: Motion) -> Finding:
    tracking = track(motion)
    if not tracking.follows:
        return Finding(
            "tracking",
            "unknown",
            "states do not follow actions in a linear way, so no lag is known",
        )
    odd = np.flatnonzero(np.abs(tracking.lag - tracking.usual) >= 2)
    message = (
        f"states follow actions with a lag of {tracking.usual:+.0f} steps "
        f"(median correlation {tracking.strength:.2f})"
    )
    if len(odd):
        told = [f"{episode} ({tracking.lag[episode]:+.0f})" for episode in odd[:SHOWN]]
        message += f"; another lag in {counted(len(odd), 'episode')}: {', '.join(told)}"
    return Finding("tracking", "look" if len(odd) else "good", message)


def of_joints(joints: Joints, count: int) -> Iterable[Finding]:
    if len(joints.dead):
        yield Finding(
            f"dead_{joints.kind}",
            "look",
            f"{len(joints.dead)} of {len(joints.low)} columns of the {joints.kind} never change: "
            f"{listed(joints.dead)}",
        )
    for column, episodes in list(joints.half_dead(count).items())[:3]:
        yield Finding(
            f"still_{joints.kind}",
            "look",
            f"column {column} of the {joints.kind} does not change in "
            f"{'episode' if len(episodes) == 1 else 'episodes'} {listed(episodes)} and does in the others",
        )


def of_marks(motion: Motion) -> Iterable[Finding]:
    if motion.success is not None:
        failed = np.flatnonzero(motion.success == 0)
        message = f"{motion.count - len(failed)} of {motion.count} episodes are marked as a success"
        more = f"; not: {listed(failed)}" if len(failed) else ""
        yield Finding("success", "look" if len(failed) else "good", message + more)
    if motion.tasks is not None:
        names, counts = np.unique(motion.tasks, return_counts=True)
        told = [f"{name} ({number})" for name, number in zip(names, counts, strict=True)]
        more = ", ..." if len(told) > SHOWN else ""
        message = (
            f"{counted(len(names), 'task')}, episodes of each: {', '.join(told[:SHOWN])}{more}"
        )
        yield Finding("tasks", "good", message)


def of_labels(columns: Mapping[str, np.ndarray]) -> Iterable[Finding]:
    doubtful = np.flatnonzero(columns["task_mismatch"] > OTHER_TASK)
    if len(doubtful):
        message = (
            f"{counted(len(doubtful), 'episode')} take the course of another task than the labelled one: "
            f"{listed(doubtful)}"
        )
        yield Finding("task_labels", "look", message)


def of_repetitions(columns: Mapping[str, np.ndarray]) -> Iterable[Finding]:
    twins = np.flatnonzero(columns.get("distinctness", np.ones(1)) < 1e-6)
    if len(twins):
        message = f"{len(twins)} episodes take the very course of another one: {listed(twins)}"
        yield Finding("repetitions", "look", message)


def of_length(motion: Motion, columns: Mapping[str, np.ndarray]) -> Iterable[Finding]:
    """Which raw scores say little beyond the length of the episode."""
    from scipy.stats import spearmanr

    if motion.count < 8 or np.ptp(motion.lengths) == 0:
        return
    bound = []
    for name in EPISODE_SCORES:
        values = columns.get(name, np.zeros(0))
        if len(values) and np.isfinite(values).all() and np.ptp(values) > 0:
            rho = float(spearmanr(values, motion.lengths)[0])  # type: ignore[arg-type]
            if abs(rho) >= BOUND_TO_LENGTH:
                bound.append(f"{name} ({rho:+.2f})")
    if bound:
        message = f"these scores follow the length of episodes, by rank correlation: {', '.join(bound)}; use their .adjusted forms"
        yield Finding("length", "look", message)
