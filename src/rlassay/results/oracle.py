"""The result of an oracle, trained or from published tables: the one producer of `rlassay.oracle/1`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "rlassay.oracle/1"


@dataclass(frozen=True)
class Oracle:
    """What several agents reach on one dataset, and what they say together.

    `score` is the mean over agents of the mean over seeds with what stands beside it, `table` one row an agent, `runs`
    one `rlassay.run/1` an agent and seed. Published oracles have no runs, but `sources`.
    """

    env_id: str
    dataset: Mapping[str, Any]
    profile: str
    score: Mapping[str, Any]
    table: Mapping[str, Mapping[str, Any]]
    unit: str
    runs: Mapping[str, list[dict[str, Any]]]
    reference: Mapping[str, Any] | None = None
    diverged: int = 0
    score_without_diverged: float | None = None
    failures: list[dict[str, Any]] = field(default_factory=list)
    sources: Mapping[str, str] | None = None
    command: str = ""
    software: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        return not self.failures

    def __repr__(self) -> str:
        return f"Oracle({self.dataset.get('source')}: {self.score['value']:.1f} {self.unit}, {len(self.table)} agents)"

    def to_json(self) -> dict[str, Any]:
        """The versioned JSON of the oracle."""
        found = {
            "schema": SCHEMA,
            "env_id": self.env_id,
            "dataset": dict(self.dataset),
            "profile": self.profile,
            "score": dict(self.score),
            "unit": self.unit,
            "reference": self.reference,
            "diverged": self.diverged,
            "score_without_diverged": self.score_without_diverged,
            "table": dict(self.table),
            "agents": dict(self.runs),
            "failures": self.failures,
            "command": self.command,
            "software": self.software,
        }
        return found if self.sources is None else {**found, "sources": dict(self.sources)}
