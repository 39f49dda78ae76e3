"""A network together with its optimiser, and one step downhill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import optax


class Learner(NamedTuple):
    """Parameters and the optimiser's moments for them."""

    params: Any
    moments: Any


def new_learner(optimiser: optax.GradientTransformation, params: Any) -> Learner:
    """Fresh moments for `params`."""
    return Learner(params, optimiser.init(params))


def descend(
    optimiser: optax.GradientTransformation, learner: Learner, loss: Callable[..., Any], *args: Any
) -> tuple[Learner, jax.Array, Any]:
    """One optimiser step on `loss(params, *args) -> (value, aux)`."""
    (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(learner.params, *args)
    change, moments = optimiser.update(gradient, learner.moments, learner.params)
    return Learner(optax.apply_updates(learner.params, change), moments), value, aux


def cosine_adam(learning_rate: float, updates: int) -> optax.GradientTransformation:
    """Adam whose rate falls along a cosine to zero over `updates`."""
    return optax.adam(optax.cosine_decay_schedule(learning_rate, updates))
