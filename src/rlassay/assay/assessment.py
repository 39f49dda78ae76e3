"""One dataset under assay: everything that scores read, computed when first asked for and then kept.

`score`, `compare`, per-episode scores and studies all work on an `Assessment`; whoever needs a column asks for it by
the name in `rlassay.scores.COLUMNS`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from rlassay.assay.clock import Clock
from rlassay.assay.settings import Plan, Shared
from rlassay.critic import FittedCritic, Scaling, fit_critic
from rlassay.critic.fit import q_apply, q_parameters
from rlassay.critic.sample import split_rows
from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.errors import DatasetError, RlassayError
from rlassay.progress import progress
from rlassay.scores.behaviour import Policies, fit_policies, neighbour_entropy
from rlassay.scores.counted import count_cells
from rlassay.transport import (
    Pairs,
    Problem,
    TransportResult,
    TransportSettings,
    estimate,
    evaluated_pairs,
    pair_costs,
    resolve_cost,
)

TRANSPORT_ROWS = 100_000  # most rows the potentials learn from, beside the evaluated ones
ROW_STREAM, TRANSPORT_STREAM, NEIGHBOUR_STREAM = 401, 402, 403


class Unavailable(RlassayError):
    """A column that this dataset cannot have; the scores that need it are left out with a warning."""


class Assessment:
    """A dataset with its plan: rows to score, critic, transport and the small fits, each computed once."""

    def __init__(
        self,
        data: Dataset,
        plan: Plan,
        seeds: Sequence[int],
        *,
        shared: Shared | None = None,
        reference: Reference | None = None,
        clock: Clock | None = None,
        show_progress: bool = False,
    ):
        self.data, self.plan, self.seeds = data, plan, tuple(seeds)
        self.settings = plan.settings
        self.shared = shared or shared_statistics([data])
        self.reference = reference
        self.clock = clock or Clock()
        self.show_progress = show_progress
        self._results: dict[str, list[TransportResult]] = {}

    def share(self, shared: Shared) -> None:
        """Adopt pooled epsilons; forgets the transport results that were computed without them."""
        self.shared = shared
        self._results.clear()

    # -- rows ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def rows(self) -> np.ndarray:
        """The evaluated rows: a seeded choice among all, in ascending order."""
        total = len(self.data)
        wanted = max(1, int(np.ceil(self.settings.evaluation.share * total)))
        count = min(self.settings.transport.states, wanted)
        return np.sort(self._rng(ROW_STREAM).choice(total, count, replace=False))

    @functools.cached_property
    def row_episodes(self) -> np.ndarray:
        """The episode of every evaluated row."""
        return self.data.episode_index[self.rows]

    @functools.cached_property
    def row_states(self) -> np.ndarray:
        """Scaled observations of the evaluated rows."""
        return self.shared.scaling.observations(self.data.observations[self.rows])

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seeds[0], stream])

    # -- critic ----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def fitted(self) -> FittedCritic:
        """The behavioural critic with its diagnosis."""
        if self.data.rewards is None:
            raise Unavailable("the data has no rewards")
        self._require_continuous()
        steps = self.settings.critic.steps
        with self.clock.phase("critic"), self._progress("critic", steps) as advance:
            try:
                return fit_critic(
                    self.data, self.settings.critic, self.seeds,
                    scaling=self.shared.scaling, on_progress=advance,
                )  # fmt: skip
            except DatasetError as error:
                raise Unavailable(str(error)) from None

    def _require_continuous(self) -> None:
        if self.data.discrete_actions:
            raise Unavailable("the actions are discrete, and random actions are drawn from a box")

    @contextmanager
    def _progress(self, name: str, steps: int):
        if not self.show_progress:
            yield lambda done, news="": None
            return
        with progress(f"{name} of {self.data.origin.source}", steps) as advance:
            yield advance

    # -- transport -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def problem_rows(self) -> np.ndarray:
        """Row numbers behind the transport problem: the evaluated ones and those the potentials learn from."""
        total = len(self.data)
        count = min(total, TRANSPORT_ROWS + len(self.rows))
        others = self._rng(TRANSPORT_STREAM).choice(total, count, replace=False)
        return np.union1d(self.rows, others)

    @functools.cached_property
    def problem(self) -> Problem:
        """The transport problem on a bounded sample of the rows."""
        critic, scaling = self.fitted.critic, self.shared.scaling
        rows = self.problem_rows
        evaluated = np.searchsorted(rows, self.rows)
        training = np.setdiff1d(np.arange(len(rows)), evaluated)
        return Problem(
            states=scaling.observations(self.data.observations[rows]),
            actions=self.data.actions[rows].astype(np.float32),
            episodes=self.data.episode_index[rows],
            low=scaling.low.astype(np.float32),
            high=scaling.high.astype(np.float32),
            q_apply=q_apply,
            q_params=q_parameters(critic),
            training_rows=training if len(training) else evaluated,
            evaluation_rows=evaluated,
        )

    @functools.cached_property
    def pairs(self) -> list[Pairs]:
        """Evaluated rows with fresh random actions, a list over seeds; costs are those of `transport.cost`."""
        problem = self.problem
        with self.clock.phase("transport"):
            return evaluated_pairs(problem, self.settings.transport, self.seeds)

    def pairs_for(self, estimator: str) -> list[Pairs]:
        """The same pairs with the cost of one estimator."""
        chosen, base = self.transport_settings(estimator), self.settings.transport
        if chosen.cost == base.cost:
            return self.pairs
        cost, actions = resolve_cost(chosen), self.data.actions[self.rows][:, None]
        return [
            replace(
                one,
                costs=pair_costs(cost, one.q_data[:, None], one.q_random, actions, one.random_actions),
            )
            for one in self.pairs
        ]  # fmt: skip

    def transport_settings(self, estimator: str) -> TransportSettings:
        """The estimator's settings, with the pooled epsilon of a comparison where there is one."""
        settings = self.plan.transport_for(estimator)
        epsilon = self.shared.epsilons.get(estimator)
        return settings if epsilon is None else replace(settings, epsilon=epsilon)

    def transport(self, estimator: str) -> list[TransportResult]:
        """Results of one estimator, a list over seeds."""
        if estimator not in self._results:
            settings, pairs = self.transport_settings(estimator), self.pairs_for(estimator)
            shown = self.show_progress and estimator == "dual"
            with self.clock.phase("transport"):
                if not shown:
                    results = estimate(self.problem, settings, self.seeds, pairs=pairs)
                else:
                    with self._progress("potentials", settings.steps) as advance:
                        results = estimate(
                            self.problem, settings, self.seeds, pairs=pairs,
                            on_progress=lambda done: advance(done, ""),
                        )  # fmt: skip
            self._results[estimator] = results
        return self._results[estimator]

    @property
    def computed_transport(self) -> dict[str, list[TransportResult]]:
        """The results that were asked for so far."""
        return dict(self._results)

    # -- baselines -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def policy_split(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and held-out rows of the cloned policy, apart by episodes where there are several."""
        settings, held = self.settings.baselines, self.settings.critic.holdout
        return split_rows(self.data, settings.fit_rows, held or 0.2, self.seeds[0])

    @functools.cached_property
    def policies(self) -> Policies:
        """A cloned and a tanh-normal policy, fitted to the training rows."""
        self._require_continuous()
        rows, scaling = self.policy_split[0], self.shared.scaling
        states = scaling.observations(self.data.observations[rows])
        actions = self.data.actions[rows]
        with self.clock.phase("scores"):
            return fit_policies(
                states, actions, scaling.actions(actions), self.settings.baselines, self.seeds
            )

    @functools.cached_property
    def neighbour_rows(self) -> np.ndarray:
        """Rows among which neighbours are sought."""
        rng = self._rng(NEIGHBOUR_STREAM)
        count = min(self.settings.baselines.neighbour_rows, len(self.rows))
        return np.sort(rng.choice(self.rows, count, replace=False))

    @functools.cached_property
    def neighbour_entropies(self) -> tuple[np.ndarray, np.ndarray]:
        """Entropy contributions and the rows they belong to."""
        rows = self.neighbour_rows
        points = self.shared.scaling.inputs(self.data.observations[rows], self.data.actions[rows])
        values, kept = neighbour_entropy(points, self.settings.baselines.neighbours)
        if len(values) == 0:
            raise Unavailable("fewer distinct rows than neighbours")
        return values, rows[kept]

    @functools.cached_property
    def cells(self) -> tuple[int, int]:
        """Distinct cells and distinct transitions of the whole file."""
        return count_cells(
            self.data.observations, self.data.actions, self.shared.cell_low, self.shared.cell_high,
            self.settings.baselines.bins,
        )  # fmt: skip


def shared_statistics(datasets: Sequence[Dataset]) -> Shared:
    """Pooled standardisation, action bounds and grid of several datasets of one task."""
    columns = [(data.observations, data.actions) for data in datasets]
    lows = [np.concatenate([o.min(axis=0), a.min(axis=0)]) for o, a in columns]
    highs = [np.concatenate([o.max(axis=0), a.max(axis=0)]) for o, a in columns]
    return Shared(
        Scaling.of(*datasets),
        np.min(lows, axis=0).astype(np.float64),
        np.max(highs, axis=0).astype(np.float64),
    )


def pooled_epsilons(
    assessments: Sequence[Assessment], estimators: Sequence[str]
) -> dict[str, float]:
    """One absolute epsilon an estimator, from the costs of every dataset and seed."""
    from rlassay.transport import resolve_epsilon

    found = {}
    for estimator in estimators:
        costs = [one.costs for each in assessments for one in each.pairs_for(estimator)]
        found[estimator] = resolve_epsilon(assessments[0].plan.transport_for(estimator), *costs)
    return found
