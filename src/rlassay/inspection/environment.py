"""Does the data fit the environment it names? Asked where the simulator is installed; scoring never needs it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlassay.data.blocks import blocks_of
from rlassay.data.dataset import Dataset
from rlassay.inspection.results import Check, found, passed

NAME = "environment"
BEYOND = 0.01  # of the action range: what lies further outside was recorded in other units
REMEDY = "name the environment the data was recorded in with --env, or check what was recorded"


def environment(data: Dataset) -> Check:
    """Dimensions, action bounds and step limit of the environment against those of the data."""
    env_id = data.env_id
    if not env_id:
        return passed(NAME, "not checked: the source names no environment")
    env, why = _made(env_id)
    if env is None:
        return passed(NAME, f"not checked: {why}")
    try:
        wrong = [
            *_observations(data, env.observation_space),
            *_actions(data, env.action_space),
            *_lengths(data, env.spec.max_episode_steps if env.spec else None),
        ]
    finally:
        env.close()
    if not wrong:
        return passed(NAME, f"dimensions, bounds and lengths fit {env_id}")
    rows = next((rows for _, rows in wrong if len(rows)), ())
    message = f"the data does not fit {env_id}: {'; '.join(text for text, _ in wrong)}"
    return found(NAME, "fail", message, REMEDY, rows)


def _made(env_id: str) -> tuple[Any, str]:
    """The environment, or why there is none. An id with a colon would import a module that the file names."""
    if ":" in env_id:
        return None, f"{env_id} names a module"
    try:
        import gymnasium
    except ImportError:
        return None, "needs the extra sim"
    from rlassay.runtime import quiet_mujoco, quiet_simulator

    quiet_simulator()
    try:
        if "mujoco" in str(gymnasium.spec(env_id).entry_point):
            quiet_mujoco()
        return gymnasium.make(env_id), ""
    except ImportError:
        return None, "needs the extra sim"
    except Exception as error:  # environments of others fail in ways of their own
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"the simulator cannot make {env_id} ({reason[:160]})"


Wrong = list[tuple[str, Any]]


def _observations(data: Dataset, space: Any) -> Wrong:
    shape = getattr(space, "shape", None)
    if type(space).__name__ != "Box" or shape is None or len(shape) > 1:
        return []  # images and dicts reach us encoded or joined, in a form of the recorder's choice
    wanted = math.prod(shape)
    if wanted == data.observation_dim:
        return []
    return [(f"observations of {data.observation_dim} instead of {wanted}", ())]


def _actions(data: Dataset, space: Any) -> Wrong:
    if type(space).__name__ == "Discrete":
        return _discrete(data, int(space.n), int(space.start))
    if type(space).__name__ != "Box":
        return []
    wanted = math.prod(space.shape)
    if wanted != data.action_dim:
        return [(f"actions of {data.action_dim} instead of {wanted}", ())]
    low, high = space.low.ravel(), space.high.ravel()
    room = BEYOND * (high - low)
    rows = _outside(data, low - room, high + room)
    if len(rows) == 0:
        return []
    return [(f"{len(rows):,} actions outside [{low.min():g}, {high.max():g}]", rows)]


def _outside(data: Dataset, low: Any, high: Any) -> np.ndarray:
    """Rows with an action below `low` or above `high`."""
    found = [
        first + np.flatnonzero(((actions < low) | (actions > high)).any(axis=1))
        for first, actions in blocks_of(data.actions)
    ]
    return np.concatenate(found)


def _discrete(data: Dataset, count: int, first: int) -> Wrong:
    if not data.discrete_actions or data.action_dim != 1:
        kind = "whole numbers" if data.discrete_actions else "continuous numbers"
        return [(f"actions of {data.action_dim} {kind} instead of one of {count} choices", ())]
    rows = _outside(data, first, first + count - 1)
    return [(f"{len(rows):,} actions beyond the {count} choices", rows)] if len(rows) else []


def _lengths(data: Dataset, limit: int | None) -> Wrong:
    long = np.flatnonzero(data.episode_lengths > (limit or np.inf))
    if len(long) == 0:
        return []
    return [(f"{len(long):,} episodes beyond its {limit:,} steps", data.episode_starts[long])]
