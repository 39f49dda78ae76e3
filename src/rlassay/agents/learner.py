"""A network together with its optimiser, and one step downhill."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import optax

from rlassay.kernel import fitting

NETWORK_STREAM = 11  # separates the weights' random numbers from those of batches and resets


class Learner(NamedTuple):
    """Parameters and the optimiser's moments for them."""

    params: Any
    moments: Any


def network_rng(seed: int) -> np.random.Generator:
    """What an agent draws its first weights from."""
    return np.random.default_rng([seed, NETWORK_STREAM])


def new_learner(optimiser: optax.GradientTransformation, params: Any) -> Learner:
    """Fresh moments for `params`."""
    return Learner(params, optimiser.init(params))


def descend(
    optimiser: optax.GradientTransformation, learner: Learner, loss: Callable[..., Any], *args: Any
) -> tuple[Learner, jax.Array, Any]:
    """One optimiser step on `loss(params, *args) -> (value, aux)`."""
    (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(learner.params, *args)
    return _moved(optimiser, learner, gradient), value, aux


def descend_in_parts(
    optimiser: optax.GradientTransformation,
    learner: Learner,
    loss: Callable[..., Any],
    *columns: jax.Array,
    parts: int,
) -> tuple[Learner, jax.Array, Any]:
    """`descend` for a loss that is a mean over rows, the first axis of all columns, a part of the rows at a time.

    The sum is the same; activations of many rows that would not fit the processor's cache together do so part by part.
    """
    gradient_of = functools.partial(jax.value_and_grad(loss, has_aux=True), learner.params)
    (value, aux), gradient = fitting.mean_over_parts(gradient_of, columns, parts)
    return _moved(optimiser, learner, gradient), value, aux


def _moved(optimiser: optax.GradientTransformation, learner: Learner, gradient: Any) -> Learner:
    change, moments = optimiser.update(gradient, learner.moments, learner.params)
    return Learner(optax.apply_updates(learner.params, change), moments)


def cosine_adam(learning_rate: float, updates: int) -> optax.GradientTransformation:
    """Adam whose rate falls along a cosine to zero over `updates`."""
    return optax.adam(optax.cosine_decay_schedule(learning_rate, updates))
