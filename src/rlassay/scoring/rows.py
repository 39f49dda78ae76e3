"""What scores read of a set of rows, as the critic of one seed sees them: the evaluated rows, or every row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlassay.critic.discrete import DiscreteCritic
from rlassay.kernel.choices import blocks
from rlassay.transport import (
    ESTIMATORS,
    Cost,
    TransportResult,
    TransportSettings,
    pair_costs,
    resolve_cost,
)

if TYPE_CHECKING:
    from rlassay.scoring.assessment import Assessment

DRAWS = 4  # random actions a row for value_gap and random_distance
ACTION_STREAM, GAP_STREAM = 501, 502


class Rows:
    """The evaluated rows of a dataset under assay, for one seed; each column is computed when first asked for."""

    def __init__(self, assessment: Assessment, member: int):
        self.assessment, self.member = assessment, member

    @property
    def numbers(self) -> np.ndarray | slice:
        """Which rows of the dataset these are."""
        return self.assessment.rows

    @functools.cached_property
    def observations(self) -> np.ndarray:
        return self.assessment.data.observations[self.numbers]

    @functools.cached_property
    def actions(self) -> np.ndarray:
        return self.assessment.data.actions[self.numbers]

    @functools.cached_property
    def states(self) -> np.ndarray:
        """Scaled observations."""
        return self.assessment.shared.scaling.observations(self.observations)

    @functools.cached_property
    def q(self) -> np.ndarray:
        """Q of the recorded actions."""
        return self._q_at(self.actions)

    @functools.cached_property
    def v(self) -> np.ndarray:
        return self.assessment.fitted.critic.v_at(self.member, self.states)

    @property
    def q_data(self) -> np.ndarray:
        """Q of the recorded actions, as the transport problem computes it."""
        return self.assessment.pairs[self.member].q_data

    @property
    def random_actions(self) -> np.ndarray:
        """(rows, k, dimensions)."""
        return self.assessment.pairs[self.member].random_actions

    @property
    def q_random(self) -> np.ndarray:
        return self.assessment.pairs[self.member].q_random

    @property
    def v_random(self) -> np.ndarray:
        """Mean of Q over the random actions of each row."""
        return self.q_random.mean(axis=1)

    def transport(self, estimator: str) -> TransportResult:
        """The dataset's result by one estimator."""
        return self.assessment.transport(estimator)[self.member]

    def integrand(self, estimator: str) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the dataset at which the estimator has an integrand, and its values there."""
        result = self.transport(estimator)
        return self.assessment.problem_rows[result.rows], result.integrand

    def costs(self, estimator: str) -> np.ndarray:
        """Costs of the recorded with the random actions (rows, k), under the cost of one estimator."""
        cost = self._cost(self.assessment.transport_settings(estimator))
        q_data = self.q_data[:, None] if cost.reads_q_data else np.zeros((len(self.actions), 1))
        return pair_costs(cost, q_data, self.q_random, self.actions[:, None], self.random_actions)

    def signed_costs(self, estimator: str) -> np.ndarray:
        """The same with the sign under which the estimator's value is a score."""
        return self._cost(self.assessment.transport_settings(estimator)).sign * self.costs(
            estimator
        )

    def _cost(self, settings: TransportSettings) -> Cost:
        return resolve_cost(settings, self.assessment.shared.scaling.numbers)

    def _q_at(self, actions: np.ndarray) -> np.ndarray:
        return self.assessment.fitted.critic.q_from(self.member, self.states, actions)


class EveryRow(Rows):
    """All rows of the dataset, with random actions of their own; nothing is trained for them."""

    @property
    def numbers(self) -> slice:
        return slice(None)

    @property
    def q_data(self) -> np.ndarray:
        return self.q

    @functools.cached_property
    def random_actions(self) -> np.ndarray:
        return self._draw(ACTION_STREAM, self.assessment.settings.transport.k)

    @functools.cached_property
    def q_random(self) -> np.ndarray:
        drawn = self.random_actions
        return np.stack([self._q_at(drawn[:, k]) for k in range(drawn.shape[1])], axis=1)

    def integrand(self, estimator: str) -> tuple[np.ndarray, np.ndarray]:
        """Every row where the estimator has a closed form, none where it was trained or lives on anchors."""
        closed = ESTIMATORS[estimator].integrand
        if closed is None:
            return np.zeros(0, np.int64), np.zeros(0)
        values = closed(self.signed_costs(estimator), self.transport(estimator))
        return np.arange(len(values)), values

    @functools.cached_property
    def gaps(self) -> dict[str, np.ndarray]:
        """How much better, and how much farther, the recorded action is than random ones."""
        cost = self._gap_cost()
        drawn = self._draw(GAP_STREAM, DRAWS)
        gap, distance = np.zeros(len(self.q)), np.zeros(len(self.q))
        for k in range(DRAWS):  # one draw at a time: a quarter of the memory
            values = self._q_at(drawn[:, k])
            gap += (self.q - values) / DRAWS
            distance += pair_costs(cost, self.q, values, self.actions, drawn[:, k]) / DRAWS
        return {"value_gap": gap, "random_distance": distance}

    def _gap_cost(self) -> Cost:
        settings = self.assessment.settings.transport
        return self._cost(replace(settings, cost="gap"))

    def _draw(self, stream: int, count: int) -> np.ndarray:
        rng = np.random.default_rng([self.assessment.seeds[self.member], stream])
        shape = (len(self.assessment.data), count)
        return self.assessment.random.draw(rng, self.assessment.settings.transport, shape)


class EveryDiscreteRow(EveryRow):
    """The same for discrete actions: each row with every action, some rows at a time, and nothing is drawn."""

    @functools.cached_property
    def random_actions(self) -> np.ndarray:
        settings, rows = self.assessment.settings.transport, len(self.assessment.data)
        return self.assessment.random.against(np.random.default_rng(0), settings, rows)

    @functools.cached_property
    def q_random(self) -> np.ndarray:
        return self._by_blocks(lambda part, q: q)

    @functools.cached_property
    def v_random(self) -> np.ndarray:
        return self._by_blocks(lambda part, q: q.mean(axis=1))

    def integrand(self, estimator: str) -> tuple[np.ndarray, np.ndarray]:
        closed = ESTIMATORS[estimator].integrand
        if closed is None:
            return super().integrand(estimator)
        cost = self._cost(self.assessment.transport_settings(estimator))
        result = self.transport(estimator)
        values = self._by_blocks(
            lambda part, q: closed(cost.sign * self._costs_of(cost, part, q), result)
        )
        return np.arange(len(values)), values

    @functools.cached_property
    def gaps(self) -> dict[str, np.ndarray]:
        cost = self._gap_cost()
        distance = self._by_blocks(lambda part, q: self._costs_of(cost, part, q).mean(axis=1))
        return {"value_gap": self.q - self.v_random, "random_distance": distance}

    def _costs_of(self, cost: Cost, part: slice, q_random: np.ndarray) -> np.ndarray:
        actions, drawn = self.actions[part, None], self.random_actions[part]
        return pair_costs(cost, self.q[part, None], q_random, actions, drawn)

    def _by_blocks(self, of_part: Callable[[slice, np.ndarray], np.ndarray]) -> np.ndarray:
        """What a function makes of Q of every action, for all rows, joined."""
        critic = self.assessment.fitted.critic
        assert isinstance(critic, DiscreteCritic)
        parts = blocks(len(self.states), critic.count)
        return np.concatenate(
            [of_part(part, critic.q_of_all(self.member, self.states[part])) for part in parts]
        )
