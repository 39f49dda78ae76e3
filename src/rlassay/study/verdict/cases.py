"""What the calibration learns from: every dataset's features beside what agents reached on it, by a named oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.references import Reference, reference_for
from rlassay.errors import SettingsError
from rlassay.oracle.profiles import LONG_AGENTS, PROFILES
from rlassay.study import parts, worlds
from rlassay.study.analysis.correlate import complete_runs
from rlassay.study.grid.cells import read_runs
from rlassay.study.grid.files import Row, read_table
from rlassay.study.grid.plan import CONFLICT_MIXTURES, ENVIRONMENTS, MIXTURES, OTHERS
from rlassay.verdict.features import Features
from rlassay.verdict.labels import Reached

CLONE, VALUE_BASED = "bc", tuple(agent for agent in LONG_AGENTS if agent != "bc")
STUDIES = {"lite": ("table1", "confirm"), "long": ("long",)}  # where the runs of an oracle lie
EVERY_DATASET = (*MIXTURES, *OTHERS)
FEATURES, REFINED = Path("verdict") / "features.csv", Path("verdict") / "refined.csv"
Key = tuple[str, str]  # environment and dataset


@dataclass(frozen=True)
class Case:
    """One dataset: its features and what every agent reached, in points."""

    environment: str
    dataset: str
    row: Mapping[str, Any]  # of results/verdict/features.csv and refined.csv
    agents: Mapping[str, float]
    best_part: float | None = None  # what cloning its best part reached
    scale: Reference | None = None  # of a world that D4RL does not know

    @property
    def reached(self) -> Reached:
        """The outcome that labels are defined by: the clone, the mean of the value-based agents, the best of all."""
        by_value = float(np.mean([v for agent, v in self.agents.items() if agent != CLONE]))
        best = max(self.agents.values())
        return Reached(self.agents[CLONE], by_value, best, self.best_part)

    @property
    def best_agent(self) -> str:
        return max(self.agents, key=lambda agent: self.agents[agent])

    @property
    def features(self) -> Features:
        return Features(**{name: self.row[name] for name in Features.__dataclass_fields__})

    @property
    def several_modes(self) -> bool:
        return bool(self.row["several_modes"])

    @property
    def votes(self) -> bool:
        """Whether it takes part in the choice of the forecast."""
        return self.dataset in (*MIXTURES, *CONFLICT_MIXTURES)

    def points(self, value: float) -> float:
        """A return on D4RL's scale, or on that of its world."""
        reference = self.scale or reference_for(self.environment)
        assert reference is not None
        return float(reference.normalise(value))

    def in_returns(self, points: float) -> float:
        """Points as a return of the environment."""
        low, high = self.points(0.0), self.points(1.0)
        return (points - low) / (high - low)


@dataclass(frozen=True)
class Part:
    """One part of the calibrated data: a study, its datasets and the agents that were trained on them."""

    study: str
    keys: tuple[Key, ...]
    agents: tuple[str, ...]


def every_key(datasets: Sequence[str] = EVERY_DATASET) -> tuple[Key, ...]:
    """Environment and dataset, in the order of the study."""
    return tuple((environment, name) for environment in ENVIRONMENTS for name in datasets)


CONFLICT = Part("conflict", every_key(CONFLICT_MIXTURES), LONG_AGENTS)
BEST_PARTS = Part("parts", every_key(parts.DATASETS), (parts.AGENT,))
WORLDS = Part(
    "worlds",
    tuple((env_id, name) for env_id in worlds.STEPS for name in worlds.DATASETS),
    worlds.AGENTS,
)


def read_cases(results: Path, oracle: str) -> list[Case]:
    """Every dataset of the calibration; an oracle that lacks runs is refused before any of its scores is read.

    Beside the long oracle stand the conflict mixtures, the clones of best parts and the other worlds, each once it is
    complete; beside another nothing is read from them.
    """
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
    used = used_parts(results, oracle)
    whole = complete_runs(_runs(results, oracle), LONG_AGENTS)
    rows = read_features(results)
    reached = _reached([run for group in whole.values() for run in group])
    keys = [*every_key()]
    scales: dict[str, Reference] = {}
    if CONFLICT in used:
        keys += CONFLICT.keys
        reached |= _reached(_part_runs(results, CONFLICT))
    if WORLDS in used:
        keys += WORLDS.keys
        scales = world_scales(results)
        reached |= _reached(_part_runs(results, WORLDS), scales)
    best = _reached(_part_runs(results, BEST_PARTS)) if BEST_PARTS in used else {}
    _require_features(keys, rows, refined=CONFLICT in used)
    return [
        Case(*key, rows[key], reached[key], best.get(key, {}).get(CLONE), scales.get(key[0]))
        for key in keys
    ]


def used_parts(results: Path, oracle: str) -> list[Part]:
    """What stands beside the long oracle: every part whose runs are all there."""
    if oracle != "long":
        return []
    return [part for part in (CONFLICT, BEST_PARTS, WORLDS) if not missing_runs(results, part)]


def missing_runs(results: Path, part: Part) -> int:
    """How many runs of a part are not there; told without reading a score."""
    known = {
        (run["environment"], run["dataset"], run["agent"])
        for run in _part_runs(results, part)
        if run["return"] is not None
    }
    return sum((*key, agent) not in known for key in part.keys for agent in part.agents)


def _part_runs(results: Path, part: Part) -> list[Row]:
    exists = (results / part.study / "runs.csv").exists()
    return read_runs(part.study, results) if exists else []


def read_features(results: Path) -> dict[Key, Row]:
    """Both tables of features, joined by dataset; rows that have not been computed are left out."""
    found: dict[Key, Row] = {}
    for name in (FEATURES, REFINED):
        for row in read_table(results / name) if (results / name).exists() else []:
            if row["value"] is not None:
                found.setdefault((row["environment"], row["dataset"]), {}).update(row)
    return found


def _require_features(keys: Sequence[Key], rows: Mapping[Key, Row], refined: bool) -> None:
    """Refuse datasets without features; `refined` ones are needed where candidates are chosen between."""
    from rlassay.study.verdict.features import FITTED
    from rlassay.study.verdict.features import REFINED as LATER

    names = (*FITTED, *(LATER if refined else ()))
    lacking = [key for key in keys if any(rows.get(key, {}).get(name) is None for name in names)]
    if lacking:
        raise SettingsError(
            f"{len(lacking)} datasets have no features, the first is {' '.join(lacking[0])}",
            remedy="run `rlassay study verdict --run`",
        )


def wild_cases(results: Path, runs: Sequence[Row], features: Path) -> list[Case]:
    """Datasets that take no part in the calibration, on the scale of their world; their features stand in a table."""
    scales = world_scales(results)
    reached = _reached(runs, scales)
    return [
        Case(*key, row, reached[key], scale=scales[key[0]])
        for row in read_table(results / features)
        if (key := (row["environment"], row["dataset"])) in reached
    ]


def world_scales(results: Path) -> dict[str, Reference]:
    """0 and 100 points of the other worlds, by environment."""
    return {
        row["environment"]: Reference(row["low"], row["high"], "worlds")
        for row in read_table(results / "worlds" / worlds.REFERENCES)
    }


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
        if not run["variant"]
    ]


def _reached(
    runs: Sequence[Row], scales: Mapping[str, Reference] | None = None
) -> dict[Key, dict[str, float]]:
    """Mean over seeds of every agent of the oracle, in points: by `scales` where the runs have returns alone."""
    found: dict[Key, dict[str, list[float]]] = {}
    for run in runs:
        points = run["score"]
        if scales and run["return"] is not None:
            points = float(scales[run["environment"]].normalise(run["return"]))
        if run["agent"] in LONG_AGENTS and points is not None:
            cell = found.setdefault((run["environment"], run["dataset"]), {})
            cell.setdefault(run["agent"], []).append(points)
    return {
        key: {agent: float(np.mean(cell[agent])) for agent in LONG_AGENTS if agent in cell}
        for key, cell in found.items()
    }
