"""The small fits behind `eas`, `bc_error` and `bc_surprise`: a policy that clones, and one that tells the spread."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.critic import Scaling
from rlassay.data.dataset import Dataset
from rlassay.kernel import fitting, nets
from rlassay.kernel.forward import mlp
from rlassay.scoring.cloning import (
    HIDDEN,
    NETWORK_STREAM,
    ActionScale,
    Cloned,
    Recorded,
    clone,
)
from rlassay.scoring.settings import BaselineSettings

LOG_SPREAD_RANGE = (-5.0, 2.0)
LARGEST_ACTION = 0.999  # actions are taken this far towards the bounds before atanh
FOLD_STREAM = 503


@dataclass(frozen=True)
class Policies:
    """Two fitted policies a seed: one that clones, one that tells the spread."""

    layers: tuple[dict[str, Any], ...]
    scale: ActionScale

    def cloning_errors(self, member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.scale.errors(self.layers[member]["clone"], states, actions)

    def spread(self, member: int, states: np.ndarray) -> np.ndarray:
        """Mean standard deviation over the action's dimensions, before tanh."""
        output = mlp(self.layers[member]["normal"], states)
        logs = np.clip(output[:, output.shape[1] // 2 :], *LOG_SPREAD_RANGE)
        return np.exp(logs.astype(np.float64)).mean(axis=1)


def fit_policies(
    states: np.ndarray,
    actions: np.ndarray,
    unit_actions: np.ndarray,
    settings: BaselineSettings,
    seeds: Sequence[int],
) -> Policies:
    """Fit both policies to scaled states; `unit_actions` have bounds of -1 and 1."""
    scale = ActionScale.of(actions)
    before_tanh = np.arctanh(np.clip(unit_actions, -LARGEST_ACTION, LARGEST_ACTION))
    data = {
        "states": jnp.asarray(states),
        "wanted": jnp.asarray(scale.standardise(actions)),
        "before_tanh": jnp.asarray(before_tanh.astype(np.float32)),
    }
    dims = (states.shape[1], actions.shape[1])
    state = fitting.stack([_initial(settings, seed, dims) for seed in seeds])
    state = fitting.fit(
        _make_step(settings.fit_learning_rate, settings.fit_steps),
        state,
        data,
        rows=len(states),
        steps=settings.fit_steps,
        batch_size=settings.fit_batch_size,
        seeds=seeds,
    )
    online = jax.tree.map(np.asarray, state["online"])
    return Policies(tuple(fitting.unstack(online, k) for k in range(len(seeds))), scale)


def _initial(settings: BaselineSettings, seed: int, dims: tuple[int, int]) -> dict[str, Any]:
    rng = np.random.default_rng([seed, NETWORK_STREAM])
    online = {
        "clone": nets.init_mlp(rng, (dims[0], *HIDDEN, dims[1])),
        "normal": nets.init_mlp(rng, (dims[0], *HIDDEN, 2 * dims[1])),
    }
    optimiser = _optimiser(settings.fit_learning_rate, settings.fit_steps)
    return {"online": online, "optimiser": optimiser.init(online)}


@functools.lru_cache(maxsize=8)
def _optimiser(learning_rate: float, steps: int) -> optax.GradientTransformation:
    return optax.flatten(optax.adam(optax.cosine_decay_schedule(learning_rate, steps)))


@functools.lru_cache(maxsize=8)
def _make_step(learning_rate: float, steps: int) -> fitting.Step:
    optimiser = _optimiser(learning_rate, steps)

    def loss(online: Any, states: jax.Array, wanted: jax.Array, before_tanh: jax.Array):
        cloned = jnp.mean((nets.mlp(online["clone"], states) - wanted) ** 2)
        mean, log_spread = jnp.split(nets.mlp(online["normal"], states), 2, axis=-1)
        log_spread = jnp.clip(log_spread, *LOG_SPREAD_RANGE)
        distance = (before_tanh - mean) * jnp.exp(-log_spread)
        return cloned + jnp.mean(0.5 * distance**2 + log_spread)

    def step(state: Any, data: Any, drawn: fitting.Inputs):
        batch = [data[name][drawn.rows] for name in ("states", "wanted", "before_tanh")]
        value, gradient = jax.value_and_grad(loss)(state["online"], *batch)
        updates, optimiser_state = optimiser.update(gradient, state["optimiser"])
        online: Any = optax.apply_updates(state["online"], updates)
        return {"online": online, "optimiser": optimiser_state}, {"loss": value}

    return step


def cloning_surprise(
    data: Dataset, scaling: Scaling, settings: BaselineSettings, seed: int
) -> np.ndarray:
    """Error of cloned actions, as `bc_error` measures it, by a policy that never saw the row's episode.

    Two policies, each cloned from one half of the episodes and judged on the other; one episode judges itself.
    """
    rng = np.random.default_rng([seed, FOLD_STREAM])
    half = rng.permutation(data.episode_count) % 2
    fold = half[data.episode_index]
    states, errors = scaling.observations(data.observations), np.full(len(data), np.nan)
    for judged in np.unique(half):
        others = np.flatnonzero(fold != judged) if data.episode_count > 1 else np.arange(len(data))
        seen = np.sort(rng.permutation(others)[: settings.fit_rows])
        policies = _cloned_from(states[seen], data.actions[seen], scaling, settings, seed)
        rows = fold == judged
        errors[rows] = policies.cloning_errors(0, states[rows], data.actions[rows])
    return errors


def _cloned_from(
    states: np.ndarray, actions: np.ndarray, scaling: Scaling, settings: BaselineSettings, seed: int
) -> Policies | Cloned:
    if scaling.numbers is None:
        return fit_policies(states, actions, scaling.actions(actions), settings, [seed])
    return clone(Recorded(states, actions, np.zeros(0)), settings, [seed], scaling.numbers)
