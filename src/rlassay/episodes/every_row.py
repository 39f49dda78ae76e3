"""What scores read, for every row of a dataset instead of the evaluated ones."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlassay.assay import Assessment

DRAWS = 4  # random actions a row for value_gap and random_distance
ACTION_STREAM, GAP_STREAM, FOLD_STREAM = 501, 502, 503


class EveryRow:
    """Critic, random actions and costs of all rows, for one seed; each computed when first asked for."""

    COLUMNS = ("row_observations", "row_actions", "q", "v", "q_random", "exact_integrand")

    def __init__(self, assessment: Assessment, member: int):
        self.assessment, self.member = assessment, member
        self.data, self.scaling = assessment.data, assessment.shared.scaling
        self.critic = assessment.fitted.critic

    def column(self, name: str) -> np.ndarray:
        """A column of `rlassay.scores.COLUMNS`, of all rows."""
        if name.startswith("row_"):
            return getattr(self.data, name.removeprefix("row_"))
        return getattr(self, name)

    @functools.cached_property
    def states(self) -> np.ndarray:
        return self.scaling.observations(self.data.observations)

    @functools.cached_property
    def q(self) -> np.ndarray:
        return self._q_at(self.data.actions)

    @functools.cached_property
    def v(self) -> np.ndarray:
        return self.critic.v_at(self.member, self.states)

    @functools.cached_property
    def random_actions(self) -> np.ndarray:
        """(rows, k, dimensions), fresh ones."""
        return self._draw(ACTION_STREAM, self.assessment.settings.transport.k)

    @functools.cached_property
    def q_random(self) -> np.ndarray:
        return self._q_random(self.random_actions)

    @property
    def exact_integrand(self) -> np.ndarray:
        return self._costs("exact").mean(axis=1)

    @property
    def tail_integrand(self) -> np.ndarray:
        """What `bwd.tail` averages, at the threshold that is optimal for the dataset."""
        result = self.assessment.transport("tail")[self.member]
        threshold = result.diagnosis["threshold"]
        excess = np.maximum(self._costs("tail") - threshold, 0)
        return threshold + (excess**2).mean(axis=1) / (4 * result.epsilon)

    @functools.cached_property
    def gaps(self) -> dict[str, np.ndarray]:
        """How much better, and how much farther, the recorded action is than random ones."""
        from rlassay.transport import TransportSettings, pair_costs, resolve_cost

        weight = self.assessment.settings.transport.gap_weight
        cost = resolve_cost(TransportSettings(cost="gap", gap_weight=weight))
        drawn = self._draw(GAP_STREAM, DRAWS)
        gap, distance = np.zeros(len(self.data)), np.zeros(len(self.data))
        for k in range(DRAWS):  # one draw at a time: a quarter of the memory
            values = self._q_at(drawn[:, k])
            gap += (self.q - values) / DRAWS
            distance += pair_costs(cost, self.q, values, self.data.actions, drawn[:, k]) / DRAWS
        return {"value_gap": gap, "random_distance": distance}

    def _costs(self, estimator: str) -> np.ndarray:
        from rlassay.transport import pair_costs, resolve_cost

        cost = resolve_cost(self.assessment.transport_settings(estimator))
        q_data = self.q[:, None] if cost.reads_q_data else np.zeros((len(self.data), 1))
        actions = self.data.actions[:, None]
        return cost.sign * pair_costs(cost, q_data, self.q_random, actions, self.random_actions)

    def _draw(self, stream: int, count: int) -> np.ndarray:
        from rlassay.transport import draw_actions

        rng = np.random.default_rng([self.assessment.seeds[self.member], stream])
        settings = self.assessment.settings.transport
        shape = (len(self.data), count)
        return draw_actions(rng, settings, shape, self.scaling.low, self.scaling.high)

    def _q_random(self, drawn: np.ndarray) -> np.ndarray:
        return np.stack([self._q_at(drawn[:, k]) for k in range(drawn.shape[1])], axis=1)

    def _q_at(self, actions: np.ndarray) -> np.ndarray:
        inputs = np.concatenate([self.states, self.scaling.actions(actions)], axis=1)
        return self.critic.q_at(self.member, inputs)


def cloning_surprise(assessment: Assessment) -> np.ndarray:
    """Squared error of cloned actions, in units of their variance, by a policy that never saw the row's episode.

    Two policies, each cloned from one half of the episodes and judged on the other; one episode judges itself.
    """
    from rlassay.scores.behaviour import fit_policies

    data, scaling = assessment.data, assessment.shared.scaling
    settings, seed = assessment.settings.baselines, assessment.seeds[0]
    rng = np.random.default_rng([seed, FOLD_STREAM])
    half = rng.permutation(data.episode_count) % 2
    fold = half[data.episode_index]
    states, errors = scaling.observations(data.observations), np.full(len(data), np.nan)
    for judged in np.unique(half):
        others = np.flatnonzero(fold != judged) if data.episode_count > 1 else np.arange(len(data))
        seen = np.sort(rng.permutation(others)[: settings.fit_rows])
        actions = data.actions[seen]
        policies = fit_policies(states[seen], actions, scaling.actions(actions), settings, [seed])
        rows = fold == judged
        errors[rows] = policies.cloning_errors(0, states[rows], data.actions[rows])
    return errors
