"""Graded datasets as recipes: which actor, at which step of which run, contributes which share.

A recipe is plain data, so that the same dataset can be rolled out again anywhere, row for row, from the same actors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlassay.collect.sources import Actors
from rlassay.errors import SettingsError

RANDOM_STEP = 0  # the untrained level: uniform random actions
MEDIUM_SHARE = 1 / 3  # of the expert's return, D4RL's rule for its medium policy


@dataclass(frozen=True)
class Part:
    """One policy of a recipe: the actor of `seed` at `step`; step 0 is the uniform random policy."""

    seed: int
    step: int


@dataclass(frozen=True)
class Recipe:
    """A named dataset: equal shares of its parts, in order."""

    name: str
    parts: tuple[Part, ...]
    description: str


def level_name(step: int) -> str:
    """`level-random`, `level-50k`, `level-1000k`: the paper's names for its steps."""
    return "level-random" if step == RANDOM_STEP else f"level-{step // 1000}k"


def level_recipes(seeds: Sequence[int], steps: Sequence[int]) -> list[Recipe]:
    """One dataset a level, from all seeds in equal shares, as the paper made its own."""
    return [
        Recipe(
            level_name(step),
            tuple(Part(seed, step) for seed in seeds),
            f"all seeds at {step:,} training steps" if step else "uniform random actions",
        )
        for step in steps
    ]


def mix_recipes(actors: Actors, seed: int) -> list[Recipe]:
    """D4RL's five sets from one run: random, medium, medium-replay, medium-expert, expert."""
    expert = max(actors.steps(seed))
    medium = medium_step(actors, seed)
    replayed = [step for step, _ in actors.curve(seed) if step <= medium]
    return [
        Recipe("random", (Part(seed, RANDOM_STEP),), "uniform random actions"),
        Recipe("medium", (Part(seed, medium),), "stopped at about a third of the expert's return"),
        Recipe(
            "medium-replay",
            tuple(Part(seed, step) for step in replayed),
            "what the run saw up to medium",
        ),
        Recipe(
            "medium-expert", (Part(seed, medium), Part(seed, expert)), "half medium, half expert"
        ),
        Recipe("expert", (Part(seed, expert),), "the end of the run"),
    ]


def medium_step(actors: Actors, seed: int) -> int:
    """The first evaluated step whose return, averaged with its neighbours, reaches a third of the way to expert.

    A run that never gets there (it got worse) gives the step that comes nearest.
    """
    curve = actors.curve(seed)
    if len(curve) < 2:
        raise SettingsError(
            "the run is too short for a medium policy",
            remedy=f"evaluate it more often with --set {actors.collector}.eval_every=N, or train it longer",
        )
    values = [value for _, value in curve]
    smooth = [_mean(values[max(0, k - 1) : k + 2]) for k in range(len(values))]
    goal = values[0] + MEDIUM_SHARE * (_mean(values[-5:]) - values[0])
    reached = [step for (step, _), value in zip(curve, smooth, strict=True) if value >= goal]
    if reached:
        return reached[0]
    return curve[min(range(len(curve)), key=lambda k: abs(smooth[k] - goal))][0]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
