"""Other worlds to calibrate on: smaller tasks, short runs of TD3, six graded and mixed datasets each; rules in docs/verdict.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.settings import TD3Settings
from rlassay.collect.sources import ZooActors
from rlassay.engine.files import write_atomically
from rlassay.study.grid.cells import Cell, Report, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import Row, write_table
from rlassay.study.grid.plan import LONG, Profile
from rlassay.study.grid.progress import progress_table

STEPS = {"Pendulum-v1": 20_000, "InvertedDoublePendulum-v5": 60_000, "Reacher-v5": 60_000}
STAGES = {"early": 0.1, "middle": 0.3, "late": 1.0}  # shares of a run
SEEDS = (0, 1)
AGENTS = ("bc", "td3bc", "iql")
UPDATES = 50_000
DATASETS = (
    *("world-random", "world-early", "world-late"),
    *("world-expert", "world-run-mix", "world-seed-mix"),
)
RANDOM_EPISODES, RANDOM_SEED = 100, 1_000_003
REFERENCES = "references.csv"
REFERENCE_COLUMNS = ("environment", "low", "high", "low_error", "high_error", "episodes")


@dataclass(frozen=True)
class World:
    """One environment: how long it is trained, and when actors are kept."""

    env_id: str

    @property
    def settings(self) -> TD3Settings:
        steps = STEPS[self.env_id]
        return TD3Settings(steps=steps, random_steps=1_000, hidden=64, eval_every=steps // 10)

    @property
    def stages(self) -> dict[str, int]:
        """Steps of the kept actors, by name."""
        return {name: int(share * STEPS[self.env_id]) for name, share in STAGES.items()}

    def recipes(self) -> dict[str, Recipe]:
        """The six datasets."""
        (first, second), at = SEEDS, self.stages
        parts = {
            "world-random": (Part(first, RANDOM_STEP),),
            "world-early": (Part(first, at["early"]), Part(second, at["early"])),
            "world-late": (Part(first, at["late"]), Part(second, at["late"])),
            "world-expert": (Part(first, at["late"]),),
            "world-run-mix": tuple(Part(first, step) for step in at.values()),
            "world-seed-mix": (Part(first, at["late"]), Part(second, at["early"])),
        }
        return {name: Recipe(name, parts[name], "of another world") for name in DATASETS}


def zoo_of_worlds(zoo: Path) -> Path:
    """Their actors have a manifest of their own: they have other levels than those of the zoo."""
    return zoo / "worlds"


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Train actors where the zoo has none, then what is missing of the agents; the budget is the study's own."""
    from rlassay.study.grid.training import LONG_COLUMNS, LONG_CURVE_COLUMNS, run_trainings

    folder = results / "worlds"
    for env_id in STEPS:
        train_actors(zoo, World(env_id), report)
    about = {"command": "rlassay study worlds --run", "agents": list(AGENTS), "updates": UPDATES}
    rows = [reference_row(ZooActors.open(zoo_of_worlds(zoo), env_id)) for env_id in STEPS]
    write_table(folder / REFERENCES, rows, REFERENCE_COLUMNS, {"complete": True, **about})
    cells = world_cells({env_id: world_data(env_id, zoo, report) for env_id in STEPS})
    return run_trainings(folder, cells, about, report, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def train_actors(zoo: Path, world: World, report: Report) -> None:
    """Two runs of TD3, one after the other, added to the zoo of the worlds."""
    from rlassay.collect import runs
    from rlassay.collect.td3 import describe
    from rlassay.collect.zoo import add_to_zoo

    if world.env_id in known_worlds(zoo):
        return
    for seed in SEEDS:
        report(f"training TD3 on {world.env_id}, seed {seed}")
        runs.train_run(world.env_id, seed, world.settings)
    add_to_zoo(
        zoo_of_worlds(zoo),
        runs.run_actors(world.env_id, list(SEEDS), world.settings),
        levels=list(world.stages.values()),
        settings=describe(world.settings),
        replay_seed=None,
    )


def reference_row(actors: ZooActors) -> Row:
    """0 points: uniform random actions; 100 points: the best of the stored actors."""
    stored = [
        actors.runs[str(s)]["actors"][str(n)] for s in actors.seeds() for n in actors.steps(s)
    ]
    best = max(stored, key=lambda actor: actor["mean_return"])
    returns = random_returns(actors.env_id)
    return {
        "environment": actors.env_id,
        "low": float(returns.mean()),
        "high": best["mean_return"],
        "low_error": float(returns.std(ddof=1) / np.sqrt(len(returns))),
        "high_error": best["standard_error"],
        "episodes": len(returns),
    }


def random_returns(env_id: str) -> np.ndarray:
    """Of episodes of uniform random actions."""
    from rlassay.rollout import evaluate, make_env

    space = make_env(env_id).action_space
    rng = np.random.default_rng(RANDOM_SEED)

    def act(observations: np.ndarray) -> np.ndarray:
        size = (len(observations), *space.shape)
        return rng.uniform(space.low, space.high, size).astype(np.float32)

    return evaluate(act, env_id, episodes=RANDOM_EPISODES, seed=RANDOM_SEED).values


def known_worlds(zoo: Path) -> list[str]:
    """Those whose runs the zoo holds."""
    from rlassay.collect.zoo import read_manifest

    known = read_manifest(zoo_of_worlds(zoo))["environments"]
    return [env_id for env_id in STEPS if _trained(known.get(env_id))]


def _trained(environment: Mapping[str, Any] | None) -> bool:
    return environment is not None and {str(seed) for seed in SEEDS} <= set(environment["runs"])


def world_data(env_id: str, zoo: Path, report: Report) -> dict[str, StudyData]:
    """The datasets of one world, rolled out where they are missing."""
    from rlassay.collect.graded import RolloutSettings
    from rlassay.study.grid.data import stored_dataset

    actors, settings = (
        ZooActors.open(zoo_of_worlds(zoo), env_id),
        RolloutSettings(LONG.transitions),
    )
    return {
        name: stored_dataset(actors, recipe, settings, report)
        for name, recipe in World(env_id).recipes().items()
    }


def world_cells(data: Mapping[str, Mapping[str, StudyData]]) -> list[Cell]:
    """One dataset of every world after the other, three agents each."""
    from rlassay.study.grid.training import training_cells

    ordered = [datasets[name] for name in DATASETS for datasets in data.values()]
    return training_cells(ordered, AGENTS, [0], LONG.name, {"updates": UPDATES})


def render(results: Path) -> str:
    """How far the grid is; what was reached is told by `rlassay study verdict` once it may be read."""
    text = progress_table(read_runs("worlds", results), by="environment")
    write_atomically(results / "worlds" / "table.md", text)
    return text
