"""The result of one training: its evaluations, its settings, and how it ended (`rlassay.run/1`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlassay.data.references import Reference, reference_for
from rlassay.results.provenance import software, source_commit
from rlassay.stats import mean_interval

SCHEMA = "rlassay.run/1"
POLICY = "policy.safetensors"  # the file in a run's folder


@dataclass(frozen=True)
class HeldOut:
    """A policy's error on held-out episodes; no interval where there is one."""

    value: float
    interval: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "interval": self.interval and list(self.interval)}


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of the evaluation episodes after `update` updates.

    Without a simulator there are none, and the error on held-out episodes stands in their place.
    """

    update: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    held_out: HeldOut | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    def to_json(self, reference: Reference | None) -> dict[str, Any]:
        if self.held_out is not None:
            return {"update": self.update, "held_out": self.held_out.to_json()}
        score = None if reference is None else float(reference.normalise(self.mean))
        return {
            "update": self.update,
            "return": self.mean,
            "score": score,
            "returns": list(self.returns),
            "lengths": list(self.lengths),
        }


@dataclass
class Run:
    """One agent, one dataset, one seed. `diverged_at` is the update after which a number was no longer finite."""

    agent: str
    env_id: str | None  # None: judged by held-out episodes
    seed: int
    revision: int
    settings: dict[str, Any]
    dataset: dict[str, Any]
    updates: int = 0
    evaluations: list[Evaluation] = field(default_factory=list)
    diverged_at: int | None = None
    final_evaluations: int = 1  # how many evaluations make the score
    seconds: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)  # sha256 of the other files of the run
    command: str = ""
    software: dict[str, Any] | None = None  # that computed it; None: what is running now
    judged_by: dict[str, Any] | None = None  # held-out episodes: unit, rows, episodes, reason

    @property
    def reference(self) -> Reference | None:
        return reference_for(self.env_id)

    @property
    def last(self) -> Evaluation:
        """The last evaluation."""
        return self.evaluations[-1]

    @property
    def best(self) -> Evaluation:
        """The first with the smallest error on held-out episodes."""
        return min(
            self.evaluations, key=lambda e: np.inf if e.held_out is None else e.held_out.value
        )

    @property
    def held_out(self) -> dict[str, Any] | None:
        """The best evaluation without a simulator, whose policy is kept."""
        if self.judged_by is None or self.best.held_out is None:
            return None
        return {**self.best.held_out.to_json(), "update": self.best.update, **self.judged_by}

    @property
    def counted(self) -> list[Evaluation]:
        """The evaluations that count: the last ones, never the best."""
        return self.evaluations[-self.final_evaluations :]

    @property
    def mean_return(self) -> float:
        """Mean over the evaluations that count."""
        return float(np.mean([evaluation.mean for evaluation in self.counted]))

    @property
    def score(self) -> float | None:
        """D4RL-normalised mean return; None where the environment has no reference returns."""
        return self.normalised(self.mean_return)

    def normalised(self, value: float) -> float | None:
        """A return on D4RL's scale; None where the environment has no reference returns."""
        return None if self.reference is None else float(self.reference.normalise(value))

    def to_json(self) -> dict[str, Any]:
        """The versioned JSON of the run."""
        reference = self.reference
        scored, returned = (None, None) if self.judged_by else self._reached(reference)
        return {
            "schema": SCHEMA,
            "agent": self.agent,
            "env_id": self.env_id,
            "updates": self.updates,
            "seed": self.seed,
            "score": scored,
            "return": returned,
            "held_out": self.held_out,
            "curve": [evaluation.to_json(reference) for evaluation in self.evaluations],
            "diverged_at": self.diverged_at,
            "reference": None if reference is None else describe_reference(reference),
            "revision": self.revision,
            "policy_sha256": self.outputs.get(POLICY),
            "outputs": self.outputs,
            "settings": self.settings,
            "dataset": self.dataset,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "command": self.command,
            "software": self.software or run_software(),
        }

    def _reached(self, reference: Reference | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Score and return with their intervals."""
        # over the episodes of all of them: as if one policy, so it tells the noise of the evaluation alone
        found = mean_interval([value for each in self.counted for value in each.returns])
        low_high = None if found is None else list(found)
        returned = {"value": self.mean_return, "interval": low_high}
        if reference is None:
            return None, returned
        interval = None if low_high is None else reference.normalise(low_high).tolist()
        return {"value": self.score, "interval": interval}, returned

    def read_provenance(self, saved: Mapping[str, Any]) -> None:
        """Take over by what, when and into which files a finished run was computed."""
        digest = saved.get("policy_sha256")
        self.outputs = saved.get("outputs") or ({} if digest is None else {POLICY: digest})
        self.command, self.software = saved["command"], saved["software"]


def describe_reference(reference: Reference) -> dict[str, Any]:
    """Reference returns as they stand in results."""
    return {
        "family": reference.family,
        "low": reference.low,
        "high": reference.high,
        "note": reference.note,
    }


def run_software() -> dict[str, Any]:
    """Versions, commit and threads that a training depends on."""
    threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
    return {**software("jax", "numpy"), "commit": source_commit(), "threads": threads}
