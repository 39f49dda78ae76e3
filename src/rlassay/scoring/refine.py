"""What `score --refine` measures besides: a clone in a learned world, and cloning errors on parts of the file where the forecast reads them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.results.card import Caution
from rlassay.verdict.calibration import packaged
from rlassay.verdict.forecast import WORLD_LOSS, measured_names
from rlassay.verdict.labels import size_label
from rlassay.verdict.parts import best_fifth, best_part, best_tenth
from rlassay.verdict.reach import FIRST_STEPS

HELD_OUT = 0.2  # of the episodes, in every cloning error


def refine(data: Dataset, seed: int = 0) -> tuple[dict[str, Any], list[Caution]]:
    """The block `refine` of the diagnosis, with everything the packaged calibration reads; or why it cannot be had."""
    hindrance = _hindrance(data)
    if hindrance is not None:
        remedy = "leave --refine out: the card is the same without it"
        return {}, [Caution("not_refined", f"--refine adds nothing: {hindrance}", remedy)]
    before = time.process_time()
    found: dict[str, Any] = world_of(data, seed)
    found |= measure(data, measured_names(packaged()), seed, known=found)
    return {**found, "processor_seconds": time.process_time() - before}, []


def _hindrance(data: Dataset) -> str | None:
    if data.rewards is None or np.ptp(data.rewards) == 0:
        return "there are no rewards to learn a world from"
    if data.discrete_actions:
        return "the learned world is one of continuous actions"
    return "the file is too small" if size_label(len(data), data.episode_count) else None


def world_of(data: Dataset, seed: int) -> dict[str, Any]:
    """What a clone earns in the learned world, as the card tells it."""
    from rlassay.verdict.world import clone_in_world

    world = clone_in_world(data, seed=seed)
    return {
        WORLD_LOSS: 1.0 - world.share,
        "clone_return": float(world.returns.mean()),
        "data_return": world.data_return,
        "rollouts": len(world.returns),
    }


def measure(
    data: Dataset, names: Sequence[str], seed: int, known: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The named numbers that take a fit; `known` ones are not measured again."""
    return {
        name: MEASURED[name](data, seed) if name not in (known or {}) else (known or {})[name]
        for name in names
    }


def cloning_error(data: Dataset, seed: int, first_steps: int | None = None) -> float:
    """Share of the action that the state does not explain on held-out episodes, or on their first steps; 0 to 1."""
    from rlassay.critic.model import Scaling
    from rlassay.critic.targets import split_rows
    from rlassay.scoring.policies import fit_policies
    from rlassay.scoring.settings import BaselineSettings

    settings, scaling = BaselineSettings(), Scaling.of(data)
    settings = replace(settings, fit_rows=min(settings.fit_rows, len(data)))
    rows, held = split_rows(data, settings.fit_rows, HELD_OUT, seed)
    states, actions = scaling.observations(data.observations), data.actions
    policies = fit_policies(
        states[rows], actions[rows], scaling.actions(actions[rows]), settings, [seed]
    )
    if first_steps is not None:
        steps = held - data.episode_starts[data.episode_index[held]]
        held = held[steps < first_steps]
    errors = policies.cloning_errors(0, states[held], actions[held])
    return float(np.clip(errors.mean(), 0.0, 1.0)) if len(held) else 0.0


# Numbers behind the fitted candidates of docs/verdict.md.
MEASURED: dict[str, Callable[[Dataset, int], float]] = {
    WORLD_LOSS: lambda data, seed: world_of(data, seed)[WORLD_LOSS],
    "conflict": lambda data, seed: cloning_error(data, seed, first_steps=FIRST_STEPS),
    "best_tenth_error": lambda data, seed: cloning_error(best_part(data, best_tenth), seed),
    "best_part_error": lambda data, seed: cloning_error(best_part(data, best_fifth), seed),
}
