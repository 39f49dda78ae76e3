"""A Gaussian actor with a tanh mean and a deviation that does not depend on the state (official IQL, XQL, AWAC)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from rlassay.kernel import nets

Actor = dict[str, nets.Params | jax.Array]


def init_actor(rng: np.random.Generator, sizes: list[int]) -> Actor:
    """Orthogonal layers; log-deviation 0."""
    layers = nets.init_mlp(rng, sizes, orthogonal=True)
    return {"layers": layers, "log_std": jnp.zeros(sizes[-1])}


def distribution(
    actor: Actor, observations: jax.Array, log_std_bounds: tuple[float, float]
) -> tuple[jax.Array, jax.Array]:
    """Mean action per observation, and the log-deviation within its bounds."""
    mean = jnp.tanh(nets.mlp(actor["layers"], observations))  # type: ignore[arg-type]
    return mean, jnp.clip(actor["log_std"], *log_std_bounds)  # type: ignore[arg-type]
