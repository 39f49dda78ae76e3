"""A trained network in NumPy: layers of `{"w", "b"}` with ReLU between them. No JAX is needed to apply one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Layers = Sequence[Mapping[str, np.ndarray]]


def uniform_init(rng: np.random.Generator, fan_in: int, shape: tuple[int, ...]) -> np.ndarray:
    """PyTorch's default for linear layers: uniform in +-1/sqrt(fan_in), weights and biases alike."""
    bound = 1.0 / np.sqrt(fan_in)
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def hidden(layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """Activations before the last layer; the inputs themselves where it is the only one."""
    x = inputs
    for layer in layers[:-1]:
        x = x @ layer["w"] + layer["b"]
        np.maximum(x, 0, out=x)
    return x


def mlp(layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """Outputs for inputs (..., in); their type is that of weights and inputs together."""
    return hidden(layers, inputs) @ layers[-1]["w"] + layers[-1]["b"]


def member(layers: Layers, index: int) -> list[dict[str, np.ndarray]]:
    """One network of an ensemble, whose leaves have a leading axis."""
    return [{name: leaf[index] for name, leaf in layer.items()} for layer in layers]
