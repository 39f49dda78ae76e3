"""`train_agent`: one agent on one dataset, evaluated on the way, resumable at every evaluation.

The folder of a run holds `run.json`, `log.csv`, `policy.safetensors` and `state.npz`, the checkpoint, from which the others
are written again where they are missing or stale.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rlassay.agents import outputs
from rlassay.agents.agent import Shapes, TrainSettings
from rlassay.agents.columns import make_columns
from rlassay.agents.judges import Judge, make_judge
from rlassay.agents.prolong import Asked, refuse_other_run
from rlassay.agents.registry import agent_kind
from rlassay.agents.rhythm import Rhythm
from rlassay.agents.trackers import open_trackers
from rlassay.agents.weights import probabilities
from rlassay.data.dataset import Dataset
from rlassay.engine.lock import only_writer
from rlassay.errors import DatasetError, SettingsError
from rlassay.kernel import checkpoint, fitting
from rlassay.policy import Policy
from rlassay.results.provenance import describe_data
from rlassay.results.run import POLICY, Run
from rlassay.settings import change, flatten, identifying

JUDGED = ("return", "score", "held_out")  # what an evaluation adds to the log
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
    make_settings(
        agent, settings, data.discrete_actions
    )  # refuse mistakes before the folder is made
    data = data.in_memory()
    with only_writer(Path(folder)):
        trainer = Trainer(agent, data, env_id, Path(folder), settings, seed, weights)
        trainer.run.command = command
        trackers = open_trackers(track, trainer.folder, trainer.description)
        try:
            return trainer.train(report, trackers)
        finally:
            trainer.judge.close()
            for tracker in trackers:
                tracker.close()


def make_settings(
    agent: str, given: TrainSettings | Mapping[str, Any] | None, discrete: bool = False
) -> Any:
    """The agent's settings: an object as it is, changes applied to the defaults, or the defaults."""
    kind = agent_kind(agent, discrete)
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
        self.kind = agent_kind(agent, data.discrete_actions)
        self.settings = make_settings(agent, settings, data.discrete_actions)
        self.folder, self.seed = folder, seed
        self.judge: Judge = make_judge(self.kind, data, env_id, self.settings, seed)
        low, high, size = self.judge.space
        self.columns, self.frame, rows = make_columns(
            data, self.kind, self.settings, low, high, within=self.judge.training_rows
        )
        self.probabilities = probabilities(weights, len(data), rows)
        self.agent = self.kind.make(self.settings, Shapes(data.observation_dim, size))
        self.rhythm = Rhythm(self.agent.updates_per_step, self.settings.eval_every)
        known = agent, self.judge.env_id, seed, self.kind.revision
        self.run = Run(*known, flatten(self.settings), describe_data(data))
        self.run.judged_by = self.judge.about
        self.run.final_evaluations = self.settings.final_evaluations
        self.run.seconds = {"total": 0.0, "evaluation": 0.0}
        self.log: list[dict[str, Any]] = []
        self.policy: Policy  # the last whose numbers are all finite
        self.best: Policy  # without a simulator: of the best evaluation that longer runs have, too

    @property
    def description(self) -> dict[str, Any]:
        """Everything the numbers depend on."""
        known = ("agent", "env_id", "seed", "revision")
        described = {name: getattr(self.run, name) for name in known}
        described["settings"] = identifying(self.settings)
        weights = b"" if self.probabilities is None else self.probabilities.tobytes()
        digest = hashlib.sha256(weights).hexdigest()
        if self.kind.discrete and not self.run.env_id:
            # without an environment the file may say which actions there are
            low, high, _ = self.judge.space
            described["actions"] = [int(low[0]), int(high[0])]
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
            self.policy = self.best = self._policy_of(self.agent.layers(state))
            return state
        asked = Asked(self.kind, self.settings, self.rhythm, self.description)
        refuse_other_run(self.folder, saved, asked)
        state, best = saved.state(self._kept(fresh, self.agent.layers(fresh)))
        self._restore(saved.record)
        self.policy = self._policy_of(self.agent.layers(state))
        self.best = self._policy_of(best or self.agent.layers(state), saved.record.get("best"))
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
        ended = self.run.diverged_at is not None or self.run.updates >= self.settings.updates
        return ended or self._out_of_patience

    @property
    def _out_of_patience(self) -> bool:
        """Without a simulator: whether the best evaluation has stayed the best for long enough."""
        if self.judge.patience is None or not self.run.evaluations:
            return False
        since = len(self.run.evaluations) - 1 - self.run.evaluations.index(self.run.best)
        return since >= self.judge.patience

    def _fit(self, state: Any, report: Report) -> Any:
        """Train up to the next evaluation; one step of an agent may be several updates."""
        each, total = self.rhythm.updates_per_step, self.settings.updates

        def on_chunk(steps: int, stacked: Any, info: dict[str, np.ndarray]) -> None:
            self._after_chunk(steps * each, stacked, info)
            report(self.run.updates, self._news())

        return fitting.fit(
            self.agent.step,
            state,
            self.columns,
            rows=len(self.columns.packed),
            start=self.run.updates // each,
            steps=min(self.rhythm.next_evaluation(self.run.updates), -(-total // each)),
            batch_size=self.settings.batch_size * each,
            seeds=[self.seed],
            chunk=self.rhythm.chunk,
            probabilities=self.probabilities,
            on_chunk=on_chunk,
        )

    def _after_chunk(self, updates: int, stacked: Any, info: dict[str, np.ndarray]) -> None:
        numbers = {name: float(value[0]) for name, value in info.items()}
        self.run.updates = updates
        self.log.append({"update": updates, **numbers})
        if _all_finite(stacked) and np.isfinite(list(numbers.values())).all():
            self.policy = self._policy_of(self.agent.layers(fitting.unstack(stacked, 0)))
        elif self.run.diverged_at is None:
            self.run.diverged_at = updates

    def _evaluate(self) -> None:
        started = time.monotonic()
        evaluation = self.judge(self.policy, self.run.updates)
        self.run.seconds["evaluation"] += time.monotonic() - started
        self.run.evaluations.append(evaluation)
        if evaluation.held_out is not None:
            self.log[-1]["held_out"] = evaluation.held_out.value
            if self.run.best is evaluation and self.rhythm.is_evaluation(evaluation.update):
                self.best = self.policy
            return
        self.log[-1] |= {"return": evaluation.mean, "score": self.run.normalised(evaluation.mean)}

    def _policy_of(self, layers: Any, updates: int | None = None) -> Policy:
        known = {"agent": self.run.agent, "env_id": self.run.env_id, "seed": str(self.seed)}
        metadata = {name: value for name, value in known.items() if value is not None}
        metadata["updates"] = str(self.run.updates if updates is None else updates)
        return self.frame.policy(layers, metadata)

    @property
    def _chosen(self) -> Policy:
        """The policy that is written: the last one, without a simulator that of the best evaluation."""
        by_error = self.run.judged_by is not None and self.run.best is not self.run.last
        return self.best if by_error else self.policy

    def _kept(self, state: Any, best: Any) -> tuple[Any, Any]:
        """What a checkpoint keeps: without a simulator the best network, too."""
        return state, None if self.run.judged_by is None else best

    def _commit(self, state: Any) -> None:
        """The outputs, then the checkpoint: where it says that updates are done, their outputs are there."""
        files = outputs.render(self._chosen.to_bytes(), self.log, self.run)
        record = {
            "updates": self.run.updates,
            "planned": self.settings.updates,
            "curve": [outputs.curve_entry(e) for e in self.run.evaluations],
            "log": [outputs.as_json(row) for row in self.log],
            "seconds": self.run.seconds,
            "diverged_at": self.run.diverged_at,
        }
        kept = self._kept(state, self.best.layers)
        if self.run.judged_by is not None:
            record["best"] = self.best.metadata["updates"]
        checkpoint.commit(self.folder, checkpoint.identity(self.description), kept, record, files)

    def _restore(self, record: dict[str, Any]) -> None:
        self.run.updates, self.log = record["updates"], record["log"]
        self.run.seconds |= record["seconds"]
        self.run.diverged_at = record["diverged_at"]
        self.run.evaluations = [outputs.evaluation_of(entry) for entry in record["curve"]]
        goes_on = self.run.updates < self.settings.updates
        if goes_on and not self.rhythm.is_evaluation(self.run.updates):
            self._forget_last_evaluation()

    def _forget_last_evaluation(self) -> None:
        """A run that was asked for more at once is not evaluated where a shorter one ended."""
        self.run.evaluations.pop()
        self.log[-1] = {name: value for name, value in self.log[-1].items() if name not in JUDGED}

    def _news(self) -> str:
        if not self.run.evaluations:
            return ""
        if self.run.last.held_out is not None:
            return f"held-out error {self.run.last.held_out.value:.3f}"
        score = self.run.normalised(self.run.last.mean)
        return f"return {self.run.last.mean:.0f}" + (
            "" if score is None else f", score {score:.1f}"
        )


def _all_finite(state: Any) -> bool:
    return all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(state))


def _finite_numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The entries a tracker can hold."""
    return {name: value for name, value in row.items() if value is not None and np.isfinite(value)}
