"""The result of one training: its evaluations, its settings, and how it ended (`rlassay.run/1`)."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlassay.references import Reference, reference_for
from rlassay.stats import mean_interval

SCHEMA = "rlassay.run/1"


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of the evaluation episodes after `update` updates."""

    update: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    def to_json(self, reference: Reference | None) -> dict[str, Any]:
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
    env_id: str
    seed: int
    revision: int
    settings: dict[str, Any]
    dataset: dict[str, Any]
    updates: int = 0
    evaluations: list[Evaluation] = field(default_factory=list)
    diverged_at: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    command: str = ""

    @property
    def reference(self) -> Reference | None:
        return reference_for(self.env_id)

    @property
    def last(self) -> Evaluation:
        """The evaluation that counts: the last, never the best."""
        return self.evaluations[-1]

    @property
    def score(self) -> float | None:
        """D4RL-normalised score of the last evaluation; None where the environment has no reference returns."""
        return None if self.reference is None else float(self.reference.normalise(self.last.mean))

    def to_json(self) -> dict[str, Any]:
        """The versioned JSON of the run."""
        reference = self.reference
        found = mean_interval(self.last.returns)  # over episodes
        low_high = None if found is None else list(found)
        scored = None
        if reference is not None:
            interval = None if low_high is None else reference.normalise(low_high).tolist()
            scored = {"value": self.score, "interval": interval}
        return {
            "schema": SCHEMA,
            "agent": self.agent,
            "env_id": self.env_id,
            "updates": self.updates,
            "seed": self.seed,
            "score": scored,
            "return": {"value": self.last.mean, "interval": low_high},
            "curve": [evaluation.to_json(reference) for evaluation in self.evaluations],
            "diverged_at": self.diverged_at,
            "reference": None if reference is None else describe_reference(reference),
            "revision": self.revision,
            "settings": self.settings,
            "dataset": self.dataset,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "command": self.command,
            "software": software(),
        }


def describe_reference(reference: Reference) -> dict[str, Any]:
    """Reference returns as they stand in results."""
    return {
        "family": reference.family,
        "low": reference.low,
        "high": reference.high,
        "note": reference.note,
    }


def software() -> dict[str, Any]:
    """Versions a result depends on."""
    import os

    import jax

    from rlassay import __version__

    return {
        "rlassay": __version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
    }
