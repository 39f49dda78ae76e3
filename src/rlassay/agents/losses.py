"""Losses and weights by their names in the literature; arrays in, arrays out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

LOG_TWO_PI = float(np.log(2 * np.pi))


def td_target(rewards, not_terminal, discount: float, next_value) -> jax.Array:
    """One-step target; a terminal is worth its reward alone, a timeout bootstraps."""
    return rewards + discount * not_terminal * next_value


def twin_squared_error(values: jax.Array, target: jax.Array) -> jax.Array:
    """Squared error of each critic, averaged over the batch, summed over critics (values: critics x batch)."""
    return ((values - target) ** 2).mean(axis=-1).sum()


def twin_huber(values: jax.Array, target: jax.Array, delta: float) -> jax.Array:
    """Huber loss: half the squared error up to `delta`, linear beyond; averaged and summed as above."""
    error = jnp.abs(values - target)
    inner = jnp.minimum(error, delta)
    return (0.5 * inner**2 + delta * (error - inner)).mean(axis=-1).sum()


def expectile_loss(difference: jax.Array, expectile: float) -> jax.Array:
    """Asymmetric squared error of IQL: |expectile - 1(u < 0)| u^2, averaged."""
    return (jnp.where(difference < 0, 1 - expectile, expectile) * difference**2).mean()


def gumbel_loss(
    difference: jax.Array, temperature: float, clip: float
) -> tuple[jax.Array, jax.Array]:
    """Gumbel regression of XQL, e^z - z - 1 with z = u / temperature, and the share of clipped z.

    Divided by e^m, m the batch's largest z (at least -1), as the official code does for stability.
    """
    raw = difference / temperature
    z = jnp.minimum(raw, clip)
    largest = jax.lax.stop_gradient(jnp.maximum(z.max(), -1.0))
    loss = jnp.exp(z - largest) - z * jnp.exp(-largest) - jnp.exp(-largest)
    return loss.mean(), (raw > clip).mean()


def exponential_weights(advantage: jax.Array, inverse_temperature: float, clip: float) -> jax.Array:
    """Weights of advantage-weighted regression: min(exp(inverse_temperature * A), clip), no gradient."""
    return jax.lax.stop_gradient(jnp.minimum(jnp.exp(inverse_temperature * advantage), clip))


def softmax_weights(advantage: jax.Array, temperature: float) -> jax.Array:
    """Weights of AWAC's official code: softmax of A / temperature over the batch, with mean 1, no gradient."""
    return jax.lax.stop_gradient(jax.nn.softmax(advantage / temperature) * advantage.shape[0])


def gaussian_log_prob(mean: jax.Array, log_std: jax.Array, actions: jax.Array) -> jax.Array:
    """Log-density of a diagonal normal, summed over action dimensions."""
    z = (actions - mean) * jnp.exp(-log_std)
    return (-0.5 * z**2 - log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)


def tanh_gaussian(
    mean: jax.Array, log_std: jax.Array, noise: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A sample of tanh(normal) with its log-density, from the pre-tanh value (no atanh at the border)."""
    raw = mean + jnp.exp(log_std) * noise
    normal = (-0.5 * noise**2 - log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)
    return jnp.tanh(raw), normal - tanh_log_slope(raw).sum(axis=-1)


def tanh_gaussian_log_prob(mean: jax.Array, log_std: jax.Array, actions: jax.Array) -> jax.Array:
    """Log-density of given actions under tanh(normal); |a| is kept below 1 by 1e-6."""
    raw = jnp.arctanh(jnp.clip(actions, -1 + 1e-6, 1 - 1e-6))
    return gaussian_log_prob(mean, log_std, raw) - tanh_log_slope(raw).sum(axis=-1)


def tanh_log_slope(raw: jax.Array) -> jax.Array:
    """log(1 - tanh(x)^2), in a form that does not cancel for large |x|."""
    return 2 * (np.log(2) - raw - jax.nn.softplus(-2 * raw))


def conservative_gap(proposed: jax.Array, data_values: jax.Array, temperature: float) -> jax.Array:
    """CQL's penalty: T logsumexp(x / T) over proposed actions (critics x actions x batch) minus Q of the data."""
    soft_maximum = temperature * jax.nn.logsumexp(proposed / temperature, axis=1)
    return (soft_maximum - data_values).mean(axis=-1).sum()


def mean_absolute(values: jax.Array) -> jax.Array:
    """TD3+BC's scale of Q: mean |Q| over the batch, no gradient."""
    return jax.lax.stop_gradient(jnp.abs(values).mean())
