"""One dataset under assay: everything that scores read, computed when first asked for and then kept.

`score`, `compare`, per-episode scores and studies all work on an `Assessment`. What has been computed so far is written
down in its `computed`; heavy modules are imported where something is fitted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rlassay import runtime
from rlassay.critic.discrete import DiscreteCritic
from rlassay.critic.model import Critic, q_apply, q_parameters, require_numbers
from rlassay.critic.targets import split_rows
from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.data.sample import sampled_episodes
from rlassay.errors import DatasetError
from rlassay.progress import progress
from rlassay.scoring.clock import Clock
from rlassay.scoring.cloning import Cloned, Recorded, clone, clone_until_settled
from rlassay.scoring.coverage import count_cells, neighbour_entropy
from rlassay.scoring.pooling import shared_statistics
from rlassay.scoring.rows import EveryDiscreteRow, EveryRow, Rows
from rlassay.scoring.settings import Plan, Shared, refuse_idle_for
from rlassay.scoring.unavailable import OTHER_SCORES, Unavailable, no_rewards
from rlassay.transport import (
    ESTIMATORS,
    Choices,
    Pairs,
    Problem,
    RandomPolicy,
    TransportResult,
    TransportSettings,
    estimate,
    evaluated_pairs,
)

if TYPE_CHECKING:
    from rlassay.critic.fit import FittedCritic
    from rlassay.scoring.policies import Policies

MOST_PAIRS = 2_000_000  # of evaluated rows with every discrete action
TRANSPORT_ROWS = 100_000  # most rows the potentials learn from, beside the evaluated ones
ROW_STREAM, TRANSPORT_STREAM, NEIGHBOUR_STREAM = 401, 402, 403


@dataclass
class Computed:
    """What has been computed so far: diagnosis and figures show it, and fit nothing anew."""

    critic: FittedCritic | None = None
    pairs: list[Pairs] | None = None
    transport: dict[str, list[TransportResult]] = field(default_factory=dict)
    cloned: Cloned | None = None  # where it was fitted until it had settled


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
        refuse_idle_for(plan, data.discrete_actions)
        self.whole, self.plan, self.seeds = data, plan, tuple(seeds)
        self.settings = plan.settings
        self._shared = shared
        self.reference = reference
        self.clock = clock or Clock()
        self.show_progress = show_progress
        self.computed = Computed()
        self._ahead: Callable[[], Cloned] | None = None  # waits for what was begun

    def share(self, shared: Shared) -> None:
        """Adopt pooled epsilons; forgets the transport results that were computed without them."""
        self._shared = shared
        self.computed.transport.clear()

    @property
    def shared(self) -> Shared:
        """Standardisation, bounds and grid: of a comparison's datasets, else of this one."""
        if self._shared is None:
            self._shared = shared_statistics([self.data])
        return self._shared

    # -- what is learned from ---------------------------------------------------------------------------------------

    @functools.cached_property
    def sample(self) -> np.ndarray | None:
        """Numbers of the episodes that everything learned goes by; None: all of them."""
        return sampled_episodes(self.whole, self.seeds[0]) if self.whole.streamed else None

    @functools.cached_property
    def data(self) -> Dataset:
        """The data in memory: whole, or the sample of a dataset that does not fit. Counted scores read `whole`."""
        part = self.whole if self.sample is None else self.whole.select(self.sample)
        with self.clock.phase("load"):
            return part.in_memory()

    def numbers_in_whole(self, episodes: np.ndarray) -> np.ndarray:
        """Episodes of `data` as they are numbered in the file."""
        return episodes if self.sample is None else self.sample[episodes]

    # -- rows ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def rows(self) -> np.ndarray:
        """The evaluated rows: a seeded choice among all, in ascending order."""
        total = len(self.data)
        wanted = max(1, int(np.ceil(self.settings.evaluation.share * total)))
        numbers = self.shared.scaling.numbers
        most = MOST_PAIRS // (numbers.count if numbers else 1)
        count = min(self.settings.transport.states, wanted, most)
        return np.sort(self._rng(ROW_STREAM).choice(total, count, replace=False))

    @functools.cached_property
    def row_episodes(self) -> np.ndarray:
        """The episode of every evaluated row."""
        return self.data.episode_index[self.rows]

    @functools.cached_property
    def evaluated(self) -> list[Rows]:
        """What scores read of the evaluated rows, a provider a seed."""
        return [Rows(self, member) for member in range(len(self.seeds))]

    @functools.cached_property
    def every_row(self) -> list[EveryRow]:
        """The same of every row, for scores of episodes and transitions."""
        kind = EveryRow if self.shared.scaling.numbers is None else EveryDiscreteRow
        return [kind(self, member) for member in range(len(self.seeds))]

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seeds[0], stream])

    # -- critic ----------------------------------------------------------------------------------------------------

    @property
    def can_learn_values(self) -> bool:
        """Rewards, and actions that are continuous or numbered."""
        if self.whole.rewards is None:
            return False
        return not self.whole.discrete_actions or self.shared.scaling.numbers is not None

    @property
    def fitted(self) -> FittedCritic:
        """The behavioural critic with its diagnosis."""
        if self.computed.critic is None:
            self.computed.critic = self._fit()
        return self.computed.critic

    def _fit(self) -> FittedCritic:
        if self.data.rewards is None:
            raise no_rewards()
        self.require_numbers()
        from rlassay.critic.fit import fit_critic

        settings, scaling = self.settings.critic, self.shared.scaling
        phase = self.clock.phase("critic", compiles=not settings.settle)
        with phase, self._progress("critic", settings.steps) as advance:
            try:
                return fit_critic(
                    self.data, settings, self.seeds, scaling=scaling, on_progress=advance
                )
            except DatasetError as error:
                raise Unavailable("no_critic", error.what, error.remedy or OTHER_SCORES) from None

    def require_numbers(self) -> None:
        """Discrete actions that cannot be numbered allow nothing that is learned from actions."""
        try:
            require_numbers(self.data, self.shared.scaling)
        except DatasetError as error:
            told = "; ".join(str(error).split("; ")[:-1])
            raise Unavailable("discrete_actions", told, error.remedy or OTHER_SCORES) from None

    @contextmanager
    def _progress(self, name: str, steps: int, shown: bool | None = None):
        if not (self.show_progress if shown is None else shown):
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
        rows, discrete = self.problem_rows, scaling.numbers is not None
        evaluated = np.searchsorted(rows, self.rows)
        training = np.setdiff1d(np.arange(len(rows)), evaluated)
        return Problem(
            states=scaling.observations(self.data.observations[rows]),
            actions=self.data.actions[rows].astype(np.float32),
            episodes=self.data.episode_index[rows],
            low=scaling.low.astype(np.float32),
            high=scaling.high.astype(np.float32),
            q_apply=q_apply,
            q_params=None if discrete else q_parameters(critic),
            training_rows=training if len(training) else evaluated,
            evaluation_rows=evaluated,
            numpy_values=critic.q_from if self.settings.critic.settle or discrete else None,
            choices=choices_of(critic),
        )

    @property
    def random(self) -> RandomPolicy:
        """Whom the behaviour is held against."""
        return self.problem.random

    @property
    def pairs(self) -> list[Pairs]:
        """Evaluated rows with fresh random actions, a list over seeds; costs are those of `transport.cost`."""
        if self.computed.pairs is None:
            problem = self.problem
            compiles = problem.numpy_values is None
            with self.clock.phase("transport", compiles=compiles):
                settings = self.settings.transport
                self.computed.pairs = evaluated_pairs(problem, settings, self.seeds)
        return self.computed.pairs

    def pairs_for(self, estimator: str) -> list[Pairs]:
        """The same pairs with the cost of one estimator."""
        if self.transport_settings(estimator).cost == self.settings.transport.cost:
            return self.pairs
        costs = [rows.costs(estimator) for rows in self.evaluated]
        return [replace(one, costs=each) for one, each in zip(self.pairs, costs, strict=True)]

    def transport_settings(self, estimator: str) -> TransportSettings:
        """The estimator's settings, with the pooled epsilon of a comparison where there is one."""
        settings = self.plan.transport_for(estimator)
        epsilon = self.shared.epsilons.get(estimator)
        return settings if epsilon is None else replace(settings, epsilon=epsilon)

    def transport(self, estimator: str) -> list[TransportResult]:
        """Results of one estimator, a list over seeds."""
        found = self.computed.transport
        if estimator not in found:
            settings, pairs = self.transport_settings(estimator), self.pairs_for(estimator)
            member = ESTIMATORS[estimator]
            self._require_few_actions(estimator)
            shown = self.show_progress and member.trains
            with (
                self.clock.phase("transport", compiles=member.integrand is None),
                self._progress("potentials", settings.steps, shown) as advance,
            ):
                found[estimator] = estimate(
                    self.problem,
                    settings,
                    self.seeds,
                    pairs=pairs,
                    on_progress=lambda done: advance(done, ""),
                )
        return found[estimator]

    def _require_few_actions(self, estimator: str) -> None:
        numbers, most = self.shared.scaling.numbers, ESTIMATORS[estimator].most_actions
        if numbers is not None and most is not None and numbers.count > most:
            raise Unavailable(
                "too_many_actions",
                f"the data has {numbers.count:,} actions, and {estimator} takes {most:,} at most",
                "use bwd.exact or bwd.tail, which take any number of actions",
            )

    # -- baselines -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def policy_split(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and held-out rows of the cloned policy, apart by episodes where there are several."""
        settings, held = self.settings.baselines, self.settings.critic.holdout
        return split_rows(self.data, settings.fit_rows, held or 0.2, self.seeds[0])

    @property
    def cloned(self) -> Cloned | Policies:
        """A cloned policy, fitted to the training rows."""
        settle, numbers = self.settings.baselines.fit_settle, self.shared.scaling.numbers
        self.require_numbers()
        if numbers is None and not settle:
            return self.policies
        if self.computed.cloned is None:
            with self.clock.phase("scores"):
                made = self._ahead or self._cloning_work()
                self.computed.cloned = made()
        return self.computed.cloned

    def clone_ahead(self) -> None:
        """Clone on a core of its own while the critic is fitted; whoever asks for the policy waits for it."""
        learnable = not self.data.discrete_actions or self.shared.scaling.numbers is not None
        alone = runtime.available_cores() < 2
        if not self.settings.baselines.fit_settle or not learnable or alone:
            return
        with self.clock.phase("scores"):
            work = self._cloning_work()
        pool = ThreadPoolExecutor(1)
        self._ahead = pool.submit(work).result
        pool.shutdown(wait=False)

    def _cloning_work(self) -> Callable[[], Cloned]:
        """The rows are gathered now; what is returned reads nothing else."""
        settings, numbers = self.settings.baselines, self.shared.scaling.numbers
        seen, unseen = (self._recorded(rows) for rows in self.policy_split)
        if numbers is None or settings.fit_settle:
            asked = seen, unseen, settings, self.seeds, numbers
            return functools.partial(clone_until_settled, *asked)
        return functools.partial(clone, seen, settings, self.seeds, numbers)

    @property
    def stochastic(self) -> Cloned | Policies:
        """A policy that tells how much the behaviour varies at a state."""
        return self.cloned if self.data.discrete_actions else self.policies

    def _recorded(self, rows: np.ndarray) -> Recorded:
        states = self.shared.scaling.observations(self.data.observations[rows])
        _, starts = np.unique(self.data.episode_index[rows], return_index=True)
        return Recorded(states, self.data.actions[rows], np.sort(starts))

    @functools.cached_property
    def policies(self) -> Policies:
        """A cloned and a tanh-normal policy of continuous actions, fitted to the training rows."""
        from rlassay.scoring.policies import fit_policies

        rows, scaling = self.policy_split[0], self.shared.scaling
        states = scaling.observations(self.data.observations[rows])
        actions = self.data.actions[rows]
        with self.clock.phase("scores", compiles=True):
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
        scaling, data = self.shared.scaling, self.data
        parts = scaling.observations(data.observations[rows]), scaling.actions(data.actions[rows])
        points = np.concatenate(parts, axis=1)
        values, kept = neighbour_entropy(points, self.settings.baselines.neighbours)
        if len(values) == 0:
            raise Unavailable("too_few_rows", "fewer distinct rows than neighbours")
        return values, rows[kept]

    @functools.cached_property
    def cells(self) -> tuple[int, int]:
        """Distinct cells and distinct transitions of the whole file."""
        grid = (self.shared.cell_low, self.shared.cell_high, self.settings.baselines.bins)
        return count_cells(self.data.observations, self.data.actions, *grid)


def choices_of(critic: Critic) -> Choices | None:
    """What transport reads of a critic of discrete actions."""
    if not isinstance(critic, DiscreteCritic) or critic.scaling.numbers is None:
        return None
    return Choices(critic.scaling.numbers, critic.q_of_all, critic.law)
