"""What the calibration learns from: every dataset's features beside what agents reached on it, by a named oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.references import reference_for
from rlassay.errors import SettingsError
from rlassay.oracle.profiles import LONG_AGENTS, PROFILES
from rlassay.study.grid.cells import read_runs
from rlassay.study.grid.files import Row, read_table
from rlassay.study.grid.plan import ENVIRONMENTS, MIXTURES, OTHERS
from rlassay.verdict.features import Features
from rlassay.verdict.labels import Reached

CLONE, VALUE_BASED = "bc", tuple(agent for agent in LONG_AGENTS if agent != "bc")
STUDIES = {"lite": ("table1", "confirm"), "long": ("long",)}  # where the runs of an oracle lie
EVERY_DATASET = (*MIXTURES, *OTHERS)


@dataclass(frozen=True)
class Case:
    """One dataset: its features and what every agent reached, in points."""

    environment: str
    dataset: str
    row: Mapping[str, Any]  # of results/verdict/features.csv
    agents: Mapping[str, float]

    @property
    def reached(self) -> Reached:
        """The outcome that labels are defined by: the clone, the mean of the value-based agents, the best of all."""
        by_value = float(np.mean([self.agents[agent] for agent in VALUE_BASED]))
        return Reached(self.agents[CLONE], by_value, max(self.agents.values()))

    @property
    def best_agent(self) -> str:
        return max(self.agents, key=lambda agent: self.agents[agent])

    @property
    def features(self) -> Features:
        return Features(**{name: self.row[name] for name in Features.__dataclass_fields__})

    @property
    def several_modes(self) -> bool:
        return bool(self.row["several_modes"])

    def points(self, value: float) -> float:
        """A return on D4RL's scale."""
        reference = reference_for(self.environment)
        assert reference is not None
        return float(reference.normalise(value))

    def in_returns(self, points: float) -> float:
        """Points as a return of the environment."""
        low, high = self.points(0.0), self.points(1.0)
        return (points - low) / (high - low)


def read_cases(results: Path, oracle: str) -> list[Case]:
    """Every dataset of the calibration; an oracle that lacks runs is refused before any of its scores is read."""
    if oracle not in STUDIES:
        raise SettingsError("unknown oracle", allowed=list(STUDIES), got=oracle)
    wanted, done = count_runs(results, oracle)
    if done < wanted:
        raise SettingsError(
            f"the {oracle} oracle is incomplete, and nothing is read from it before it is complete",
            allowed=f"{wanted} runs",
            got=f"{done}",
            remedy=_remedy(oracle),
        )
    reached = _reached(_runs(results, oracle))
    rows = {
        (row["environment"], row["dataset"]): row
        for row in read_table(results / "verdict" / "features.csv")
    }
    return [Case(*key, rows[key], reached[key]) for key in every_key()]


def _remedy(oracle: str) -> str:
    if oracle == "long":
        return "wait for `rlassay study long --run`, or calibrate with --oracle lite"
    return "run `rlassay study table1 --run` and `rlassay study confirm --run`"


def chosen_oracle(results: Path) -> str:
    """The long oracle once it is complete, until then the lite one."""
    wanted, done = count_runs(results, "long")
    return "long" if done == wanted else "lite"


def count_runs(results: Path, oracle: str) -> tuple[int, int]:
    """How many runs the oracle needs, and how many of them are there."""
    known = {
        (run["environment"], run["dataset"], run["agent"])
        for run in _runs(results, oracle)
        if run["score"] is not None
    }
    wanted = [(*key, agent) for key in every_key() for agent in LONG_AGENTS]
    return len(wanted), sum(key in known for key in wanted)


def every_key() -> list[tuple[str, str]]:
    """Environment and dataset of every case, in the order of the study."""
    return [(environment, name) for environment in ENVIRONMENTS for name in EVERY_DATASET]


def described(oracle: str) -> str:
    """How the oracle is named on cards and pages."""
    updates = PROFILES[oracle]["*"]["updates"]
    return f"{oracle}, {updates:,} updates" + (", provisional" if oracle == "lite" else "")


def _runs(results: Path, oracle: str) -> list[Row]:
    return [
        run
        for study in STUDIES[oracle]
        if (results / study / "runs.csv").exists()
        for run in read_runs(study, results)
    ]


def _reached(runs: Sequence[Row]) -> dict[tuple[str, str], dict[str, float]]:
    """Mean over seeds of every agent of the oracle."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for run in runs:
        if run["agent"] in LONG_AGENTS and run["score"] is not None and not run["variant"]:
            cell = found.setdefault((run["environment"], run["dataset"]), {})
            cell.setdefault(run["agent"], []).append(run["score"])
    return {
        key: {agent: float(np.mean(cell[agent])) for agent in LONG_AGENTS if agent in cell}
        for key, cell in found.items()
    }
