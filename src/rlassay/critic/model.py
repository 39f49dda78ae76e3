"""A fitted critic: Q and V of the behaviour, evaluated in blocks of one size so that one program serves all."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlassay.critic.settings import CriticSettings
from rlassay.data.dataset import Dataset
from rlassay.data.discrete import ActionNumbers, numbers_of
from rlassay.errors import DatasetError
from rlassay.kernel.forward import hidden
from rlassay.kernel.regression import evaluate

BLOCK = 8_192  # rows evaluated at once
STANDARDISED_ENTRIES = 1_000_000  # numbers held in float64 at once


@dataclass(frozen=True)
class Scaling:
    """Maps observations and actions to the networks' inputs; shared by the datasets of one comparison."""

    mean: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    numbers: ActionNumbers | None = None  # of discrete actions that can be numbered

    @classmethod
    def of(cls, *datasets: Dataset) -> Scaling:
        """Pooled over all rows of the datasets."""
        counts = np.array([len(data) for data in datasets], np.float64)
        statistics = [data.observation_statistics for data in datasets]
        means = np.stack([mean for mean, _ in statistics])
        squares = np.stack([deviation**2 + mean**2 for mean, deviation in statistics])
        weights = (counts / counts.sum())[:, None]
        mean = (weights * means).sum(axis=0)
        variance = np.maximum((weights * squares).sum(axis=0) - mean**2, 0.0)
        if len(datasets) == 1:
            mean, variance = means[0], statistics[0][1] ** 2
        bounds = [data.action_bounds() for data in datasets]
        low = np.min([bound[0] for bound in bounds], axis=0)
        high = np.max([bound[1] for bound in bounds], axis=0)
        box = low.astype(np.float64), high.astype(np.float64)
        return cls(mean, np.sqrt(variance), *box, _numbers(datasets))

    def observations(self, values: np.ndarray) -> np.ndarray:
        """Standardised, some rows at a time; the small constant keeps a constant column at zero."""
        found = np.empty(values.shape, np.float32)
        rows = max(1, STANDARDISED_ENTRIES // max(1, values.shape[-1]))
        for first in range(0, len(values), rows):
            part = values[first : first + rows] - self.mean
            part /= self.deviation + 1e-3
            found[first : first + rows] = part
        return found

    def actions(self, values: np.ndarray) -> np.ndarray:
        """The bounds become -1 and 1."""
        half = (self.high - self.low) / 2
        centred = values - (self.high + self.low) / 2
        return (centred / np.where(half > 0, half, 1.0)).astype(np.float32)

    def places(self, actions: np.ndarray) -> np.ndarray:
        """Which of the numbered actions each is, from 0."""
        assert self.numbers is not None
        return actions[:, 0].astype(np.int64) - self.numbers.first

    def action_inputs(self, actions: np.ndarray) -> np.ndarray:
        """What a critic's inputs say of actions: their place between the bounds, or their place among the numbers."""
        if self.numbers is None:
            return self.actions(actions)
        return self.places(actions)[:, None].astype(np.float32)

    def inputs(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """One row of numbers a transition, as critics read them."""
        parts = [self.observations(observations), self.action_inputs(actions)]
        return np.concatenate(parts, axis=1)


def _numbers(datasets: Sequence[Dataset]) -> ActionNumbers | None:
    """Of discrete actions; None where they cannot be numbered, which `require_numbers` refuses in a sentence."""
    if not all(data.discrete_actions for data in datasets):
        return None
    try:
        return numbers_of(*datasets)[0]
    except DatasetError:
        return None


def require_numbers(data: Dataset, scaling: Scaling) -> None:
    """Refuse discrete actions that are not numbered: nothing treats them as continuous ones."""
    if data.discrete_actions and scaling.numbers is None:
        numbers_of(data)
        raise DatasetError(
            "the actions of another dataset of this comparison cannot be numbered",
            remedy="`rlassay score` tells of each what is wrong",
        )


@dataclass(frozen=True)
class Critic:
    """Q and V for each seed. Values are `centre + spread * network`, in float64 outside the network."""

    settings: CriticSettings
    seeds: tuple[int, ...]
    scaling: Scaling
    parameters: tuple[Mapping[str, Any], ...]  # a seed: {"q": layers, "v": layers} as NumPy arrays
    centre: float
    spread: float
    curve: Mapping[str, list]  # step, loss and mean value at each
    diagnosis: Mapping[str, Any] = field(default_factory=dict)

    def q(self, member: int, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Q(s, a) of the seed at position `member`, one value a row."""
        return self.q_at(member, self.scaling.inputs(observations, actions))

    def v(self, member: int, observations: np.ndarray) -> np.ndarray:
        """V(s), one value a row."""
        return self.v_at(member, self.scaling.observations(observations))

    def q_at(self, member: int, inputs: np.ndarray) -> np.ndarray:
        """Q at inputs that are scaled already."""
        return self._value(member, "q", inputs)

    def q_from(self, member: int, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Q for scaled states and actions in their own units."""
        inputs = np.concatenate([states, self.scaling.action_inputs(actions)], axis=1)
        return self.q_at(member, inputs)

    def v_at(self, member: int, inputs: np.ndarray) -> np.ndarray:
        """V at observations that are scaled already."""
        return self._value(member, "v", inputs)

    def features(self, member: int, inputs: np.ndarray) -> np.ndarray:
        """The last hidden layer of Q, float64."""
        return hidden(self.parameters[member]["q"], inputs).astype(np.float64)

    def behaviour_report(self, member: int, training: Any, held: Any) -> dict[str, float]:
        """What the diagnosis says of a law of the behaviour, where the critic has one."""
        return {}

    def _value(self, member: int, name: str, inputs: np.ndarray) -> np.ndarray:
        apply = _in_numpy if self.settings.settle else forward
        return self.centre + self.spread * apply(self.parameters[member][name], inputs)


def _in_numpy(layers, inputs: np.ndarray) -> np.ndarray:
    return evaluate(layers, inputs)[:, 0].astype(np.float64)


def forward(layers, inputs: np.ndarray) -> np.ndarray:
    """The network's single output for many rows, float64; every block is dispatched before any is waited for."""
    blocks = []
    for first in range(0, len(inputs), BLOCK):
        block = inputs[first : first + BLOCK]
        short = BLOCK - len(block)
        blocks.append(_apply()(layers, np.pad(block, ((0, short), (0, 0)))))
    outputs = [np.asarray(block, np.float64) for block in blocks]
    return np.concatenate(outputs)[: len(inputs)] if outputs else np.zeros(0)


@functools.cache
def _apply():
    import jax

    from rlassay.kernel import nets

    return jax.jit(lambda layers, inputs: nets.mlp(layers, inputs)[:, 0])


# -- the critic as a function of its parameters, for programs that are compiled around it ----------------------------


def q_parameters(critic: Critic) -> dict[str, Any]:
    """What `q_apply` reads, every leaf with a leading axis over seeds."""
    half = (critic.scaling.high - critic.scaling.low) / 2
    constants = {
        "centre": critic.centre,
        "spread": critic.spread,
        "action_centre": (critic.scaling.high + critic.scaling.low) / 2,
        "action_half": np.where(half > 0, half, 1.0),
    }
    members = [member["q"] for member in critic.parameters]
    layers = [
        {name: np.stack([member[depth][name] for member in members]) for name in layer}
        for depth, layer in enumerate(members[0])
    ]
    alike = {
        name: np.stack([np.asarray(value, np.float32)] * len(members))
        for name, value in constants.items()
    }
    return {"layers": layers, **alike}


def q_apply(params: Any, states: Any, actions: Any) -> Any:
    """Q in JAX, float32, for scaled states and actions in their own units."""
    from rlassay.kernel import nets

    scaled = (actions - params["action_centre"]) / params["action_half"]
    return params["centre"] + params["spread"] * nets.scalar(params["layers"], states, scaled)
