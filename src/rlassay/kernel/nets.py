"""Small multi-layer perceptrons as plain pytrees: a list of `{"w", "b"}`, one entry a layer.

Weights are drawn with NumPy, because drawing them inside `jit` dominates the compile time. An ensemble is
one leaf with a leading axis (twin critics run as one batched product, XLA on CPU pays per operation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from rlassay.kernel.forward import uniform_init

Params = list[dict[str, jax.Array]]


def orthogonal_init(
    rng: np.random.Generator, shape: tuple[int, int], gain: float = 2.0**0.5
) -> np.ndarray:
    """A (semi-)orthogonal matrix times `gain`, the initialiser of the official IQL and XQL."""
    rows, columns = shape
    normal = rng.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(normal)
    q = q * np.sign(np.diag(r))
    return (gain * (q if rows >= columns else q.T)).astype(np.float32)


def init_mlp(
    rng: np.random.Generator,
    sizes: Sequence[int],
    *,
    ensemble: int | None = None,
    orthogonal: bool = False,
    layer_norm: bool = False,
    last_scale: float = 1.0,
) -> Params:
    """Weights of an MLP with layer widths `sizes`; with `ensemble`, every leaf gets a leading axis."""
    members = [
        _init_one(rng, sizes, orthogonal, layer_norm, last_scale) for _ in range(ensemble or 1)
    ]
    if ensemble is None:
        return jax.tree.map(jnp.asarray, members[0])
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *members)


def _init_one(rng, sizes, orthogonal, layer_norm, last_scale):
    layers = []
    for index, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        last = index == len(sizes) - 2
        if orthogonal:
            w, b = orthogonal_init(rng, (fan_in, fan_out)), np.zeros(fan_out, np.float32)
        else:
            w = uniform_init(rng, fan_in, (fan_in, fan_out))
            b = uniform_init(rng, fan_in, (fan_out,))
        layer = {"w": w * (last_scale if last else 1.0), "b": b * (last_scale if last else 1.0)}
        if layer_norm and not last:
            layer |= {"scale": np.ones(fan_out, np.float32), "shift": np.zeros(fan_out, np.float32)}
        layers.append(jax.tree.map(lambda leaf: leaf.astype(np.float32), layer))
    return layers


def mlp(
    params: Params, x: jax.Array, activation: Callable[[jax.Array], jax.Array] = jax.nn.relu
) -> jax.Array:
    """Apply the network to `x` (..., in); an ensemble of E members gives (E, ..., out)."""
    for layer in params[:-1]:
        x = activation(_normalise(layer, _affine(layer, x)))
    return _affine(params[-1], x)


def scalar(params: Params, *inputs: jax.Array) -> jax.Array:
    """A network with one output, applied to the concatenated inputs, without its last axis."""
    return mlp(params, jnp.concatenate(inputs, axis=-1))[..., 0]


def scalar_per_state(params: Params, observations: jax.Array, actions: jax.Array) -> jax.Array:
    """`scalar` for K actions (K, batch, dim) at each state (batch, dim): (K, batch), an ensemble's with a leading axis.

    With that many rows one product a member is faster than one batched product.
    """
    if params[0]["w"].ndim == 3:
        members = [
            jax.tree.map(lambda leaf, i=i: leaf[i], params) for i in range(len(params[0]["w"]))
        ]
        return jnp.stack([scalar_per_state(member, observations, actions) for member in members])
    repeated = jnp.broadcast_to(observations, (len(actions), *observations.shape))
    inputs = jnp.concatenate([repeated, actions], axis=-1)
    return mlp(params, inputs.reshape(-1, inputs.shape[-1]))[:, 0].reshape(actions.shape[:2])


def _affine(layer, x):
    if layer["w"].ndim == 3:  # an ensemble: one batched product
        return jnp.matmul(x, layer["w"]) + layer["b"][:, None, :]
    return x @ layer["w"] + layer["b"]


def _normalise(layer, x):
    if "scale" not in layer:
        return x
    centred = x - x.mean(-1, keepdims=True)
    return (
        centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-6) * layer["scale"]
        + layer["shift"]
    )


def first_outputs(params: Params, count: int) -> Params:
    """The network cut to its first `count` outputs."""
    last = {name: leaf[..., :count] for name, leaf in params[-1].items()}
    return [*params[:-1], last]


def polyak(target: Params, online: Params, rate: float | jax.Array) -> Params:
    """Move `target` towards `online` by the fraction `rate`."""
    return jax.tree.map(lambda t, o: t + rate * (o - t), target, online)
