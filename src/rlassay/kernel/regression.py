"""Least-squares training of small networks in NumPy, for a score that is wanted in seconds: no JAX to start, nothing to compile.

Same initial weights, batches, loss and Adam as the compiled loop in `rlassay.kernel.fitting`; the sums are rounded in another
order, so its numbers agree closely and not to the last bit. The learning rate is an argument of every step, so that training
can go on in stretches until its result has settled.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from rlassay import runtime
from rlassay.kernel.forward import Layers, uniform_init

BLOCK = 512  # rows evaluated at once
CHUNK = 500  # gradient steps whose rows are drawn together, as in the compiled loop
FIRST_DECAY, SECOND_DECAY, SMALLEST = 0.9, 0.999, 1e-8  # Adam's
Made = TypeVar("Made")


def initial_layers(rng: np.random.Generator, sizes: Sequence[int]) -> list[dict[str, np.ndarray]]:
    """Weights as `nets.init_mlp` draws them."""
    return [
        {"w": uniform_init(rng, fan_in, (fan_in, out)), "b": uniform_init(rng, fan_in, (out,))}
        for fan_in, out in itertools.pairwise(sizes)
    ]


class Regression:
    """A network under Adam. Weights, gradient and moments are one vector each: Adam is then a dozen operations in all."""

    def __init__(self, layers: Layers):
        shapes = [(layer["w"].shape, layer["b"].shape) for layer in layers]
        parts = [part.ravel() for layer in layers for part in (layer["w"], layer["b"])]
        self.weights = np.concatenate(parts).astype(np.float32)
        self.gradient = np.zeros_like(self.weights)
        self.layers, self._slopes = _views(self.weights, shapes), _views(self.gradient, shapes)
        self._mean, self._square = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self._spare = np.empty_like(self.weights)
        self._steps = 0
        self._active: list[np.ndarray] = []  # inputs of every layer, of the last forward pass

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs for one batch; what the gradient needs of it is kept."""
        self._active = [inputs]
        for layer in self.layers[:-1]:
            x = self._active[-1] @ layer["w"]
            x += layer["b"]
            self._active.append(_rectify(x))
        return self._active[-1] @ self.layers[-1]["w"] + self.layers[-1]["b"]

    def learn(self, error: np.ndarray, rate: float) -> None:
        """One step of Adam on the mean of `error`^2, with error = outputs - wanted of the last batch."""
        self.descend(error * np.float32(2.0 / error.size), rate)

    def descend(self, slope: np.ndarray, rate: float) -> None:
        """One step of Adam on any loss, whose slope by the outputs of the last batch is given."""
        for layer, slopes, inputs in zip(
            reversed(self.layers), reversed(self._slopes), reversed(self._active), strict=True
        ):
            np.matmul(inputs.T, slope, out=slopes["w"])
            np.sum(slope, axis=0, out=slopes["b"])
            if inputs is not self._active[0]:
                slope = _times_transposed(slope, layer["w"])
                slope *= inputs > 0
        self._adam(rate)

    def _adam(self, rate: float) -> None:
        self._steps += 1
        gradient, spare = self.gradient, self._spare
        self._mean *= np.float32(FIRST_DECAY)
        self._mean += np.multiply(gradient, np.float32(1 - FIRST_DECAY), out=spare)
        self._square *= np.float32(SECOND_DECAY)
        np.multiply(gradient, gradient, out=spare)
        self._square += np.multiply(spare, np.float32(1 - SECOND_DECAY), out=spare)
        np.divide(self._square, np.float32(1 - SECOND_DECAY**self._steps), out=spare)
        np.sqrt(spare, out=spare)
        spare += np.float32(SMALLEST)
        np.divide(self._mean, spare, out=spare)
        spare *= np.float32(rate / (1 - FIRST_DECAY**self._steps))
        self.weights -= spare

    def copy_of_layers(self) -> list[dict[str, np.ndarray]]:
        return [{name: leaf.copy() for name, leaf in layer.items()} for layer in self.layers]


class OneOutput(Regression):
    """A network of one hidden layer and one output, in two thirds of the time.

    A column of ones beside the inputs makes one matrix of the first layer's weights and biases. Its slope is that of the
    outputs, spread over the units that are active, times the weights behind them: the slope of every unit is never formed.
    """

    def __init__(self, layers: Layers):
        super().__init__(layers)
        rows, width = layers[0]["w"].shape
        first = slice(0, (rows + 1) * width)  # weights, then biases
        self._first, self._first_slopes = (
            vector[first].reshape(rows + 1, width) for vector in (self.weights, self.gradient)
        )
        self._resize(0)

    def _resize(self, batch: int) -> None:
        rows, width = self._first.shape
        self._inputs = np.ones((batch, rows), np.float32)
        self._hidden, self._switched = (np.zeros((batch, width), np.float32) for _ in range(2))

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        if len(inputs) != len(self._inputs):
            self._resize(len(inputs))
        self._inputs[:, :-1] = inputs
        np.matmul(self._inputs, self._first, out=self._hidden)
        _rectify(self._hidden)
        return self._hidden @ self.layers[-1]["w"] + self.layers[-1]["b"]

    def descend(self, slope: np.ndarray, rate: float) -> None:
        last, slopes = self.layers[-1], self._slopes[-1]
        np.matmul(self._hidden.T, slope, out=slopes["w"])
        np.sum(slope, axis=0, out=slopes["b"])
        np.copyto(self._switched, self._hidden > 0)
        np.matmul((self._inputs * slope).T, self._switched, out=self._first_slopes)
        self._first_slopes *= last["w"].T
        self._adam(rate)


def network(layers: Layers) -> Regression:
    """The quicker kind where the shape allows it."""
    one = len(layers) == 2 and layers[-1]["w"].shape[1] == 1
    return OneOutput(layers) if one else Regression(layers)


def _rectify(x: np.ndarray) -> np.ndarray:
    """Negative numbers become 0, in place; against an array of zeros in a quarter of the time it takes against a number."""
    return np.maximum(x, _zeros(x.shape), out=x)


@functools.lru_cache(maxsize=16)
def _zeros(shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _times_transposed(slope: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """slope @ weights.T; for one output that is an outer product, which BLAS takes four times as long for."""
    return slope * weights.T if weights.shape[1] == 1 else slope @ weights.T


def _views(vector: np.ndarray, shapes: Iterable[Any]) -> list[dict[str, np.ndarray]]:
    found, first = [], 0
    for w_shape, b_shape in shapes:
        middle = first + w_shape[0] * w_shape[1]
        last = middle + b_shape[0]
        found.append({"w": vector[first:middle].reshape(w_shape), "b": vector[middle:last]})
        first = last
    return found


def batches(
    seed: int, span: tuple[int, int], batch_size: int, rows: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Number and rows of every update of a span: those of `fitting.draw_inputs`."""
    for start in range(*span, CHUNK):
        shape = (min(CHUNK, span[1] - start), batch_size)
        drawn = np.random.default_rng([seed, start]).integers(0, rows, shape, dtype=np.int32)
        yield from ((start + k, chosen) for k, chosen in enumerate(drawn))


def cosine(rate: float, step: int, steps: int) -> float:
    """The rate at `step` of a stretch in which it falls to zero along a cosine."""
    return rate * 0.5 * (1.0 + np.cos(np.pi * step / steps))


def evaluate(layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """Outputs for many rows, in blocks whose hidden layers stay in the processor's cache."""
    found = np.empty((len(inputs), len(layers[-1]["b"])), np.float32)
    for first in range(0, len(inputs), BLOCK):
        x = inputs[first : first + BLOCK]
        for layer in layers[:-1]:
            x = x @ layer["w"]
            x += layer["b"]
            _rectify(x)
        np.matmul(x, layers[-1]["w"], out=found[first : first + BLOCK])
    found += layers[-1]["b"]
    return found


def stretches(steps: int, first: int, longest: int) -> list[tuple[int, int]]:
    """`steps` in stretches that double, up to the longest: (0, 500), (500, 1000), (1000, 2000), (2000, 4000) and so on."""
    borders = [0]
    while borders[-1] < steps:
        grown = max(min(first, longest), min(2 * borders[-1], borders[-1] + longest))
        borders.append(min(grown, steps))
    return list(itertools.pairwise(borders))


def for_every_seed(work: Callable[[int], Made], count: int) -> list[Made]:
    """`work(member)` for every seed, as many at once as there are cores: NumPy computes outside of Python's lock."""
    if count == 1:
        return [work(0)]
    with ThreadPoolExecutor(min(count, runtime.available_cores())) as pool:
        return list(pool.map(work, range(count)))
