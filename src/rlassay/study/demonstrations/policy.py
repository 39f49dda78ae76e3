"""The policy test: BC on the half of the episodes that a score keeps, beside a random half and a clean one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.engine.store import Task
from rlassay.settings import identifying
from rlassay.study.demonstrations.detection import (
    LEVEL_OF_RULE,
    defective,
    goodness_of,
    reference_of,
    rolled_out,
)
from rlassay.study.grid.cells import Cell, Report, run_table
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row
from rlassay.study.grid.plan import Profile
from rlassay.study.grid.training import training_rows

AGENT = "bc"
UPDATES = 24_000
SEEDS = 3
HALF = 0.5
RANDOM, CLEAN = "random", "clean"
COLUMNS = ("environment", "defect", "arm", "seed", "updates", "score", "return", "seconds")
STREAM = 76


def run_policies(
    folder: Path, scores: Sequence[str], profile: Profile, zoo: Path, about: Row, report: Report
) -> list[str]:
    """Train what is missing, 576 runs: every arm of a defect in an environment together, a whole seed before the next."""
    cells = in_order(
        policy_cells(environment, datasets, scores)
        for environment, datasets in rolled_out(profile, zoo, report).items()
    )
    table = folder / "runs.csv"
    return run_table(table, cells, COLUMNS, training_rows, about, report)


def in_order(grids: Iterable[Sequence[Cell]]) -> list[Cell]:
    """Seed by seed, inside a seed defect by defect, there environment by environment with all arms."""
    from rlassay.motion.defects import DEFECT_NAMES

    def place(cell: Cell) -> tuple[int, int]:
        return cell.columns["seed"], DEFECT_NAMES.index(cell.columns["defect"])

    return sorted((cell for grid in grids for cell in grid), key=place)


def policy_cells(
    environment: str, datasets: Mapping[str, StudyData], scores: Sequence[str]
) -> list[Cell]:
    """Every defect at the rule's strength, every arm, three seeds; seed k has the faults of draw k."""
    from rlassay.agents.registry import agent_kind
    from rlassay.motion.defects import DEFECT_NAMES
    from rlassay.oracle import settings_of

    changes = {"updates": UPDATES, "eval_every": UPDATES}  # the rule asks for the last one alone
    settings = identifying(settings_of([AGENT], "lite", changes)[AGENT])
    cells = []
    for defect in DEFECT_NAMES:
        for arm in (*scores, RANDOM, CLEAN):
            for seed in range(SEEDS):
                asked = {"defect": defect, "level": LEVEL_OF_RULE, "arm": arm, "seed": seed}
                asked |= {"env_id": environment, "settings": settings}
                task = Task(
                    "policy-demonstrations",
                    "rlassay.study.demonstrations.policy:policy_task",
                    asked,
                    reference_of(datasets),
                    agent_kind(AGENT).revision,
                    f"{environment} {defect} {arm} seed {seed}",
                )
                named = {"environment": environment, "defect": defect, "arm": arm, "seed": seed}
                cells.append(Cell(task, named))
    return cells


def policy_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: put the faults in, keep the arm's half, clone it."""
    from rlassay.agents import train_agent

    made = defective(settings, data)
    kept = kept_half(settings["arm"], made.data, made.mask, settings["seed"])
    run = train_agent(
        AGENT,
        made.data.select(kept),
        settings["env_id"],
        folder=folder,
        settings=dict(settings["settings"]),
        seed=settings["seed"],
    )
    return run.to_json()


def kept_half(arm: str, data: Any, faulty: np.ndarray, seed: int) -> np.ndarray:
    """Episodes of an arm: the better half by a score, a random half, or sound ones filled up with others."""
    number = max(1, int(HALF * data.episode_count + 0.5))
    order = np.random.default_rng([seed, STREAM]).permutation(data.episode_count)
    if arm == CLEAN:
        order = order[np.argsort(faulty[order], kind="stable")]
    elif arm != RANDOM:
        good = goodness_of(data, [arm])[arm]
        order = np.argsort(-np.where(np.isnan(good), -np.inf, good), kind="stable")
    return np.sort(order[:number])
