"""The contract of an offline agent, and the settings every agent shares.

An agent is a value, not a class: `Agent(init, step, act, layers)`. `init(seed)` makes the state, a NamedTuple of
pytrees; `step(state, columns, inputs)` is one update, pure, run by `rlassay.kernel.fitting.fit`; `act(state, observations)` is
the deterministic action. Agents live in unit coordinates: actions in [-1, 1], observations as `columns.py` gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from rlassay.errors import SettingsError
from rlassay.kernel import nets
from rlassay.settings import added_later


class Shapes(NamedTuple):
    """Sizes of the task."""

    observation_dim: int
    action_dim: int


class Agent(NamedTuple):
    """How to start, how to learn from one batch, how to act."""

    init: Callable[[int], Any]  # seed -> state
    step: Callable[[Any, Any, Any], tuple[Any, dict[str, jax.Array]]]
    act: Callable[[Any, jax.Array], jax.Array]  # deterministic, in [-1, 1]; or a number
    layers: Callable[
        [Any], nets.Params
    ]  # whose tanh, or largest output, `act` returns: for `Policy`
    updates_per_step: int = 1  # batches one call of `step` consumes
    prepare: Callable[[Any, Any, int], Any] = lambda state, columns, seed: state  # before update 0


class AgentKind(NamedTuple):
    """An entry of the registry."""

    make: Callable[[Any, Shapes], Agent]  # equal arguments must give the same object: compiled once
    settings: type
    revision: int  # raised whenever the numbers of the agent change
    rows: Literal["all", "bootstrap", "sarsa"]  # the rows of a dataset it can learn from
    needs_rewards: bool = True
    schedule: str | None = "its schedule"  # what depends on `updates`; None: a run may be prolonged
    discrete: bool = False  # actions are numbers, and `Shapes.action_dim` is how many there are


@dataclass(frozen=True)
class TrainSettings:
    """What every agent has."""

    updates: int = 1_000_000  # gradient updates
    batch_size: int = 256
    learning_rate: float = 3e-4
    width: int = 256  # units of a hidden layer
    depth: int = 2  # hidden layers
    normalise_observations: bool = False  # to mean 0 and deviation 1 over the dataset
    eval_every: int = 5_000  # updates
    eval_episodes: int = 10
    final_evaluations: int = added_later(1)  # the run's score is the mean of its last evaluations
    final_eval_episodes: int | None = added_later(None)  # of each of those; none: as the others

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name in _AT_LEAST_ONE and value < 1:
                raise SettingsError(f"{field.name} is too small", allowed="1 or more", got=value)
            if field.name in _FRACTIONS and not 0 <= value <= 1:
                raise SettingsError(f"{field.name} is no fraction", allowed="0 to 1", got=value)
            if field.name.endswith("learning_rate") and not value > 0:
                raise SettingsError(f"{field.name} is not positive", allowed="above 0", got=value)


@dataclass(frozen=True)
class ValueSettings(TrainSettings):
    """What every agent with a critic has."""

    discount: float = 0.99
    target_rate: float = 0.005  # how far the target network moves at each of its updates
    reward_scaling: Literal["none", "return_range", "mean"] = "none"  # see docs/agents.md


_AT_LEAST_ONE = {
    "updates",
    "batch_size",
    "width",
    "depth",
    "eval_every",
    "eval_episodes",
    "final_evaluations",
    "final_eval_episodes",
    "actor_depth",
    "action_samples",
    "policy_delay",
    "bwd_negatives",
    "patience",
    "bwd_width",
}
_FRACTIONS = {"discount", "target_rate", "expectile", "critic_share", "cloning_share"}


def hidden(
    settings: TrainSettings, inputs: int, outputs: int, depth: int | None = None
) -> list[int]:
    """Layer sizes of a network with the settings' width and depth."""
    return [inputs, *[settings.width] * (depth or settings.depth), outputs]


def tanh_act(layers: Callable[[Any], nets.Params]) -> Callable[[Any, jax.Array], jax.Array]:
    """The deterministic action of every agent here: tanh of its mean network."""
    return lambda state, observations: jnp.tanh(nets.mlp(layers(state), observations))


def make_agent(
    settings: TrainSettings,
    shapes: Shapes,
    init: Callable[..., Any],
    step: Callable[..., Any],
    *,
    layers: Callable[[Any], nets.Params],
    prepare: Callable[..., Any] = lambda settings, shapes, state, columns, seed: state,
    updates_per_step: int = 1,
    act: Callable[..., Callable[[Any, jax.Array], jax.Array]] = tanh_act,
) -> Agent:
    """An agent from functions whose first arguments are the settings and the shapes."""
    bound = [partial(function, settings, shapes) for function in (init, step, prepare)]
    return Agent(bound[0], bound[1], act(layers), layers, updates_per_step, bound[2])
