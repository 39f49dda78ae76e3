"""The critic of discrete actions: Q of every action in one pass, and the law by which the behaviour chooses.

The last column of its inputs is the place of the action among the numbered ones. It is evaluated in NumPy, however it
was trained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.critic.model import Critic, Scaling
from rlassay.kernel import choices
from rlassay.kernel.forward import Layers, hidden, mlp

MOST_FEATURES = 1_024  # of the linear solutions behind the mixture gap


def split_inputs(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scaled states, and the place of the action of each row."""
    return inputs[:, :-1], inputs[:, -1].astype(np.int64)


def recorded_outputs(layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """The network's output for the action of each row, float64."""
    found = np.empty(len(inputs))
    for part in choices.blocks(len(inputs), len(layers[-1]["b"])):
        states, places = split_inputs(inputs[part])
        found[part] = choices.of_chosen(mlp(layers, states), places)
    return found


@dataclass(frozen=True)
class DiscreteCritic(Critic):
    """Q and the behaviour's law for each seed; V is the sum of law times Q.

    Parameters of a seed are {"q": layers, "law": layers}, both with an output for every action.
    """

    def q_at(self, member: int, inputs: np.ndarray) -> np.ndarray:
        return self.centre + self.spread * recorded_outputs(self.parameters[member]["q"], inputs)

    def v_at(self, member: int, inputs: np.ndarray) -> np.ndarray:
        return self._by_blocks(member, inputs, lambda q, law: (law * q).sum(axis=1))

    def q_of_all(self, member: int, states: np.ndarray) -> np.ndarray:
        """Q of every action at scaled states: (states, actions), float64."""
        outputs = mlp(self.parameters[member]["q"], states)
        return self.centre + self.spread * outputs.astype(np.float64)

    def v_random(self, member: int, states: np.ndarray) -> np.ndarray:
        """The mean of Q over all actions: what the uniform policy would do next is worth."""
        return self._by_blocks(member, states, lambda q, law: q.mean(axis=1), law=False)

    def law(self, member: int, states: np.ndarray) -> np.ndarray:
        """Probabilities of every action at scaled states."""
        return np.exp(choices.log_law(mlp(self.parameters[member]["law"], states)))

    def _by_blocks(
        self,
        member: int,
        states: np.ndarray,
        reduce: Callable[[np.ndarray, Any], np.ndarray],
        law: bool = True,
    ) -> np.ndarray:
        found = np.empty(len(states))
        for part in choices.blocks(len(states), self.count):
            block = states[part]
            found[part] = reduce(
                self.q_of_all(member, block), self.law(member, block) if law else None
            )
        return found

    @property
    def count(self) -> int:
        """How many actions there are."""
        return len(self.parameters[0]["q"][-1]["b"])

    def features(self, member: int, inputs: np.ndarray) -> np.ndarray:
        """The last hidden layer of Q, apart for every action; where these would be too many, for all actions alike."""
        states, places = split_inputs(inputs)
        found = hidden(self.parameters[member]["q"], states).astype(np.float64)
        if self.count * (found.shape[1] + 1) > MOST_FEATURES:
            return found
        apart = np.zeros((len(found), self.count, found.shape[1] + 1))
        apart[np.arange(len(found)), places, :-1] = found
        apart[np.arange(len(found)), places, -1] = 1.0
        return apart.reshape(len(found), -1)

    def behaviour_report(self, member: int, training: Any, held: Any) -> dict[str, float]:
        """Log-loss of the law on held-out rows, and that of the actions' frequencies."""
        if not len(held.inputs):
            return {}
        states, places = split_inputs(held.inputs)
        layers, loss = self.parameters[member]["law"], np.empty(len(states))
        for part in choices.blocks(len(states), self.count):
            loss[part] = choices.log_loss(mlp(layers, states[part]), places[part])
        _, seen = split_inputs(training.inputs)
        return {
            "law_log_loss": float(loss.mean()),
            "frequencies_log_loss": float(choices.frequency_loss(seen, places, self.count).mean()),
        }


def critic_kind(scaling: Scaling) -> type[Critic]:
    """The critic of numbered actions, or of continuous ones."""
    return Critic if scaling.numbers is None else DiscreteCritic
