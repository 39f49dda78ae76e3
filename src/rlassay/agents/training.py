"""`train_agent`: one agent on one dataset, evaluated on the way, resumable at every evaluation.

The folder of a run holds `run.json`, `log.csv`, `policy.safetensors` and `state.npz`, the checkpoint, from which the others
are written again where they are missing or stale.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rlassay.agents import outputs
from rlassay.agents.agent import Shapes, TrainSettings
from rlassay.agents.columns import make_columns
from rlassay.agents.prolong import Asked, episodes_at, refuse_other_run
from rlassay.agents.registry import agent_kind
from rlassay.agents.trackers import open_trackers
from rlassay.agents.weights import probabilities
from rlassay.data.dataset import Dataset
from rlassay.engine.lock import only_writer
from rlassay.errors import DatasetError, SettingsError
from rlassay.kernel import checkpoint, fitting
from rlassay.policy import Policy
from rlassay.results.provenance import describe_data
from rlassay.results.run import POLICY, Evaluation, Run
from rlassay.rollout import Evaluator, reset_seed
from rlassay.settings import change, flatten, identifying

LONGEST_CHUNK = 1_000  # steps run by one program; between chunks one may stop
Report = Callable[[int, str], None]  # (updates done, news)


def train_agent(
    agent: str,
    data: Dataset,
    env_id: str | None = None,
    *,
    folder: str | Path,
    settings: TrainSettings | Mapping[str, Any] | None = None,
    seed: int = 0,
    weights: np.ndarray | None = None,
    track: Sequence[str] = (),
    report: Report = lambda done, news: None,
    command: str = "",
) -> Run:
    """Train `agent` and write the run into `folder`; a folder with the same run is continued, or read if complete.

    `settings` is the agent's settings object or changes to its defaults. `weights` are sampling probabilities per
    transition of the dataset. A run whose numbers stop being finite ends there, with its last finite policy, and says
    so in `diverged_at`. A folder that another process writes is refused.
    """
    make_settings(agent, settings)  # refuse mistakes before the folder is made
    with only_writer(Path(folder)):
        trainer = Trainer(agent, data, env_id, Path(folder), settings, seed, weights)
        trainer.run.command = command
        trackers = open_trackers(track, trainer.folder, trainer.description)
        try:
            return trainer.train(report, trackers)
        finally:
            trainer.evaluator.close()
            for tracker in trackers:
                tracker.close()


def make_settings(agent: str, given: TrainSettings | Mapping[str, Any] | None) -> Any:
    """The agent's settings: an object as it is, changes applied to the defaults, or the defaults."""
    kind = agent_kind(agent)
    if isinstance(given, kind.settings):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError(
            f"settings of {agent} have the wrong type",
            allowed=kind.settings.__name__,
            got=type(given).__name__,
        )
    return change(kind.settings(), given or {})


class Trainer:
    """What one run needs, and where it stands."""

    def __init__(self, agent, data: Dataset, env_id, folder: Path, settings, seed: int, weights):
        self.kind, self.settings = agent_kind(agent), make_settings(agent, settings)
        self.folder, self.seed = folder, seed
        env_id = environment_of(data, env_id)
        most = max(self.settings.eval_episodes, self.settings.final_eval_episodes or 0)
        self.evaluator = Evaluator(env_id, most)
        low, high = _matching_bounds(self.evaluator.envs[0], data, env_id)
        self.columns, self.frame, rows = make_columns(data, self.kind, self.settings, low, high)
        self.probabilities = probabilities(weights, len(data), rows)
        self.agent = self.kind.make(self.settings, Shapes(data.observation_dim, data.action_dim))
        self.run = Run(
            agent, env_id, seed, self.kind.revision, flatten(self.settings), describe_data(data)
        )
        self.run.final_evaluations = self.settings.final_evaluations
        self.run.seconds = {"total": 0.0, "evaluation": 0.0}
        self.log: list[dict[str, Any]] = []
        self.policy: Policy  # the last whose numbers are all finite

    @property
    def description(self) -> dict[str, Any]:
        """Everything the numbers depend on."""
        known = ("agent", "env_id", "seed", "revision")
        described = {name: getattr(self.run, name) for name in known}
        described["settings"] = identifying(self.settings)
        weights = b"" if self.probabilities is None else self.probabilities.tobytes()
        digest = hashlib.sha256(weights).hexdigest()
        return {**described, "data": self.run.dataset["fingerprint"], "weights": digest}

    def train(self, report: Report, trackers: Sequence[Any]) -> Run:
        """Train from the last checkpoint to the end, one evaluation period after another."""
        state = fitting.stack([self._start()])
        while not self._finished:
            started = time.monotonic()
            state = self._fit(state, report)
            self._evaluate()
            for tracker in trackers:
                tracker.log(self.run.updates, _finite_numbers(self.log[-1]))
            self.run.seconds["total"] += time.monotonic() - started
            self._commit(fitting.unstack(state, 0))
            report(self.run.updates, self._news())
        return self.run

    def _start(self) -> Any:
        """A fresh state, or that of the checkpoint, whose outputs are then all in place."""
        fresh, saved = self.agent.init(self.seed), checkpoint.load(self.folder)
        if saved is None:
            state = self.agent.prepare(fresh, self.columns, self.seed)
            self.policy = self._policy_of(state)
            return state
        asked = Asked(self.kind, self.settings, self.agent.updates_per_step, self.description)
        refuse_other_run(self.folder, saved, asked)
        state = saved.state(fresh)
        self._restore(saved.record)
        self.policy = self._policy_of(state)
        checkpoint.restore_outputs(self.folder, saved.outputs or self._outputs_of_before())
        if self._finished:
            self.run.read_provenance(json.loads((self.folder / outputs.RUN).read_text()))
        return state

    def _outputs_of_before(self) -> dict[str, bytes]:
        """The outputs where version 0.1 kept no copy of them; none where the folder has them."""
        saved = self.folder / POLICY
        if self.run.diverged_at is None:
            policy = self.policy.to_bytes()
        elif saved.exists():
            policy = saved.read_bytes()  # the state is not finite
        else:
            raise DatasetError(
                f"{self.folder} holds a run that diverged and whose policy is lost",
                remedy="delete the folder and train again",
            )
        if outputs.belong(self.folder, self.run, policy):
            return {}
        return outputs.render(policy, self.log, self.run)

    @property
    def _finished(self) -> bool:
        return self.run.diverged_at is not None or self.run.updates >= self.settings.updates

    def _fit(self, state: Any, report: Report) -> Any:
        """Train up to the next evaluation; one step of an agent may be several updates."""
        each = self.agent.updates_per_step
        period = math.ceil(self.settings.eval_every / each)
        start, total = self.run.updates // each, math.ceil(self.settings.updates / each)

        def on_chunk(steps: int, stacked: Any, info: dict[str, np.ndarray]) -> None:
            self._after_chunk(steps * each, stacked, info)
            report(self.run.updates, self._news())

        return fitting.fit(
            self.agent.step,
            state,
            self.columns,
            rows=len(self.columns.packed),
            start=start,
            steps=min(start + period, total),
            batch_size=self.settings.batch_size * each,
            seeds=[self.seed],
            chunk=min(LONGEST_CHUNK, period),
            probabilities=self.probabilities,
            on_chunk=on_chunk,
        )

    def _after_chunk(self, updates: int, stacked: Any, info: dict[str, np.ndarray]) -> None:
        numbers = {name: float(value[0]) for name, value in info.items()}
        self.run.updates = updates
        self.log.append({"update": updates, **numbers})
        if _all_finite(stacked) and np.isfinite(list(numbers.values())).all():
            self.policy = self._policy_of(fitting.unstack(stacked, 0))
        elif self.run.diverged_at is None:
            self.run.diverged_at = updates

    def _evaluate(self) -> None:
        started = time.monotonic()
        updates = self.run.updates
        episodes = episodes_at(self.settings, updates)
        returns = self.evaluator(self.policy, reset_seed(self.seed, updates), episodes)
        self.run.seconds["evaluation"] += time.monotonic() - started
        evaluation = Evaluation(
            updates, tuple(returns.values.tolist()), tuple(returns.lengths.tolist())
        )
        self.run.evaluations.append(evaluation)
        self.log[-1] |= {"return": evaluation.mean, "score": self.run.normalised(evaluation.mean)}

    def _policy_of(self, state: Any) -> Policy:
        metadata = {"agent": self.run.agent, "env_id": self.run.env_id, "seed": str(self.seed)}
        metadata["updates"] = str(self.run.updates)
        return self.frame.policy(self.agent.layers(state), metadata)

    def _commit(self, state: Any) -> None:
        """The outputs, then the checkpoint: where it says that updates are done, their outputs are there."""
        files = outputs.render(self.policy.to_bytes(), self.log, self.run)
        record = {
            "updates": self.run.updates,
            "planned": self.settings.updates,
            "curve": [[e.update, e.returns, e.lengths] for e in self.run.evaluations],
            "log": [outputs.as_json(row) for row in self.log],
            "seconds": self.run.seconds,
            "diverged_at": self.run.diverged_at,
        }
        checkpoint.commit(self.folder, checkpoint.identity(self.description), state, record, files)

    def _restore(self, record: dict[str, Any]) -> None:
        self.run.updates, self.log = record["updates"], record["log"]
        self.run.seconds |= record["seconds"]
        self.run.diverged_at = record["diverged_at"]
        self.run.evaluations = [
            Evaluation(update, tuple(returns), tuple(lengths))
            for update, returns, lengths in record["curve"]
        ]

    def _news(self) -> str:
        if not self.run.evaluations:
            return ""
        score = self.run.normalised(self.run.last.mean)
        return f"return {self.run.last.mean:.0f}" + (
            "" if score is None else f", score {score:.1f}"
        )


def environment_of(data: Dataset, env_id: str | None) -> str:
    """The environment to evaluate in: the one named, else the one the dataset names."""
    if env_id or data.env_id:
        return env_id or str(data.env_id)
    raise SettingsError(
        f"{data.origin.source} does not name its environment",
        remedy="name it with --env, such as --env Hopper-v5",
    )


def _matching_bounds(env: Any, data: Dataset, env_id: str) -> tuple[np.ndarray, np.ndarray]:
    """The environment's action bounds, once its dimensions are those of the data."""
    found = (env.observation_space.shape[0], env.action_space.shape[0])
    wanted = (data.observation_dim, data.action_dim)
    if found != wanted:
        raise DatasetError(
            f"{data.origin.source} is not from {env_id}",
            allowed=f"observations of {found[0]} and actions of {found[1]}",
            got=f"observations of {wanted[0]} and actions of {wanted[1]}",
            remedy="name the environment the data was recorded in with --env",
        )
    return env.action_space.low, env.action_space.high


def _all_finite(state: Any) -> bool:
    return all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(state))


def _finite_numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The entries a tracker can hold."""
    return {name: value for name, value in row.items() if value is not None and np.isfinite(value)}
