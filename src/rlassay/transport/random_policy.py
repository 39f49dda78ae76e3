"""Whom behaviour is held against: actions drawn between bounds, or every discrete action alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlassay.data.discrete import ActionNumbers
from rlassay.transport.settings import TransportSettings


class RandomPolicy(Protocol):
    """Random actions of one kind."""

    @property
    def width(self) -> int:
        """How many numbers tell the potentials of an action."""
        ...

    def draw(
        self, rng: np.random.Generator, settings: TransportSettings, shape: tuple[int, ...]
    ) -> np.ndarray:
        """Actions of shape (*shape, dimensions)."""
        ...

    def against(
        self, rng: np.random.Generator, settings: TransportSettings, states: int
    ) -> np.ndarray:
        """The actions over whose mean a state is evaluated: (states, k, dimensions)."""
        ...

    def encode(self, actions: np.ndarray) -> np.ndarray:
        """Actions as the potentials read them, float32."""
        ...


@dataclass(frozen=True)
class Box:
    """Continuous actions between bounds: `k` are drawn for every state."""

    low: np.ndarray
    high: np.ndarray

    @property
    def width(self) -> int:
        return len(self.low)

    def draw(self, rng, settings, shape) -> np.ndarray:
        return draw_actions(rng, settings, shape, self.low, self.high)

    def against(self, rng, settings, states) -> np.ndarray:
        return self.draw(rng, settings, (states, settings.k))

    def encode(self, actions: np.ndarray) -> np.ndarray:
        """The bounds become -1 and 1."""
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        half = np.where(high > low, (high - low) / 2, np.float32(1))
        return (actions - (low + high) / 2) / half


@dataclass(frozen=True)
class Uniform:
    """Discrete actions, each as likely as the others: a state is evaluated with all of them, and nothing is sampled."""

    numbers: ActionNumbers

    @property
    def width(self) -> int:
        return self.numbers.count

    def draw(self, rng, settings, shape) -> np.ndarray:
        drawn = rng.integers(self.numbers.count, size=(*shape, 1))
        return (self.numbers.first + drawn).astype(np.float32)

    def against(self, rng, settings, states) -> np.ndarray:
        return np.broadcast_to(self.every[:, None], (states, self.numbers.count, 1))

    @property
    def every(self) -> np.ndarray:
        """All of them, in order."""
        return np.arange(self.numbers.first, self.numbers.last + 1, dtype=np.float32)

    def encode(self, actions: np.ndarray) -> np.ndarray:
        """One column for each action."""
        return (actions == self.every).astype(np.float32)


def draw_actions(
    rng: np.random.Generator,
    settings: TransportSettings,
    shape: tuple[int, ...],
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Random actions of shape (*shape, dimensions), float32.

    `uniform` on the bounds; `clipped_normal` is centre + half range * clip(N(0,1), -1, 1), the paper's for bounds of
    +-1 and scaled to any others.
    """
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    if settings.random_policy == "uniform":
        drawn = rng.random((*shape, len(low)), dtype=np.float32)
        drawn *= high - low
        drawn += low
    else:
        drawn = rng.standard_normal((*shape, len(low)), dtype=np.float32)
        np.clip(drawn, -1, 1, out=drawn)
        drawn *= (high - low) / 2
        drawn += (low + high) / 2
    return np.clip(drawn, low, high, out=drawn)  # rounding must not leave the bounds
