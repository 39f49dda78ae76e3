"""Data of the curation study: mixtures of good and bad behaviour, made once and kept in the run store."""

from __future__ import annotations

import numpy as np

from rlassay.collect.graded import RolloutSettings, roll_out
from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.settings import PAPER_LEVELS
from rlassay.collect.sources import Actors
from rlassay.data.dataset import Dataset
from rlassay.study.grid.data import StudyData, stored_dataset

MIXTURES = ("expert-random", "all-levels")
NOISY, CORRUPTED = (
    0.5,
    0.3,
)  # deviation of noise on executed, on recorded actions, of half the range
LABEL_STREAM = 701


def mixture_recipe(actors: Actors, name: str) -> Recipe:
    """`expert-random`: half the last actor, half random; `all-levels`: every level of the run in equal shares."""
    seed = actors.seeds()[0]
    known = actors.steps(seed)
    if name == "expert-random":
        parts = (Part(seed, max(known)), Part(seed, RANDOM_STEP))
        return Recipe(name, parts, "half expert, half random")
    levels = [step for step in PAPER_LEVELS if step == RANDOM_STEP or step in known]
    return Recipe(name, tuple(Part(seed, step) for step in levels), "all levels in equal shares")


def mixture(actors: Actors, name: str, transitions: int) -> StudyData:
    """A mixture of `transitions` rows."""
    return stored_dataset(actors, mixture_recipe(actors, name), RolloutSettings(transitions))


def labelled_episodes(actors: Actors, episodes: int) -> tuple[Dataset, np.ndarray]:
    """Equally many whole episodes of four kinds, and the kind of each.

    `expert` and `random` are the last actor and uniform actions; `noisy` is the actor with large noise on what it does;
    `corrupted` is the actor with noise on what was written down, so that states and rewards are an expert's.
    """
    seed = actors.seeds()[0]
    expert, random = Part(seed, max(actors.steps(seed))), Part(seed, RANDOM_STEP)
    good = _whole(actors, expert, 2 * episodes, noise=0.1)
    parts = {
        "expert": good.select(np.arange(episodes)),
        "random": _whole(actors, random, episodes, noise=0.0),
        "noisy": _whole(actors, expert, episodes, noise=NOISY),
        "corrupted": _misrecorded(good.select(np.arange(episodes, 2 * episodes))),
    }
    return _joined(list(parts.values())), np.repeat(list(parts), episodes)


def _whole(actors: Actors, part: Part, episodes: int, noise: float) -> Dataset:
    """The first complete episodes of a policy; more rows are rolled out until there are enough."""
    rows = 50 * episodes
    while True:
        rolled = roll_out(actors, Recipe("episodes", (part,), ""), RolloutSettings(rows, noise))
        if rolled.episode_count > episodes:  # the last one was cut by the row count
            return rolled.select(np.arange(episodes))
        rows *= 4


def _misrecorded(data: Dataset) -> Dataset:
    low, high, _ = data.action_bounds()
    rng = np.random.default_rng(LABEL_STREAM)
    noise = CORRUPTED * (high - low) / 2 * rng.standard_normal(data.actions.shape)
    return _with_actions(data, np.clip(data.actions + noise, low, high).astype(np.float32))


def _with_actions(data: Dataset, actions: np.ndarray) -> Dataset:
    names = ("observations", "rewards", "terminals", "timeouts", "next_observations", "next_valid")
    columns = {name: getattr(data, name) for name in names}
    return Dataset.from_columns(
        **columns, actions=actions, episode_starts=data.episode_starts, origin=data.origin
    )


def _joined(parts: list[Dataset]) -> Dataset:
    names = (
        "observations",
        "actions",
        "rewards",
        "terminals",
        "timeouts",
        "next_observations",
        "next_valid",
    )
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    offsets = np.cumsum([0, *(len(part) for part in parts[:-1])])
    starts = np.concatenate(
        [part.episode_starts + o for part, o in zip(parts, offsets, strict=True)]
    )
    return Dataset.from_columns(**columns, episode_starts=starts, origin=parts[0].origin)
