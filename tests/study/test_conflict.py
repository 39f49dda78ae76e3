"""Mixtures with an actor of another algorithm: chosen by the manifest alone, and out of the way of every other recipe."""

import json
from pathlib import Path

import numpy as np
import pytest

from rlassay.collect.sources import MANIFEST, ZooActors, file_hash
from rlassay.collect.zoo import OTHERS_FROM, add_other
from rlassay.errors import DatasetError
from rlassay.policy import Policy
from rlassay.study.conflict import conflict_cells
from rlassay.study.grid import plan
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.progress import progress_table

ENVIRONMENT = "Hopper-v5"


def manifest_of(returns: dict[int, dict[int, float]], other: float | None) -> dict:
    """A manifest whose actors have these returns, by seed and step."""
    runs = {
        str(seed): {
            "actors": {str(step): {"mean_return": value} for step, value in steps.items()},
            "curve": [[0, 0.0]],
        }
        for seed, steps in returns.items()
    }
    environment: dict = {"runs": runs}
    if other is not None:
        environment["others"] = {"100": {"actors": {"160000": {"mean_return": other}}}}
    return {"environments": {ENVIRONMENT: environment}}


def actors_of(other: float | None) -> ZooActors:
    levels = [50_000, *plan.CONFLICT_STEPS]
    first = dict(zip(levels, (10, 100, 200, 300, 400, 500), strict=True))
    second = dict(zip(levels, (11, 110, 210, 310, 410, 900), strict=True))
    manifest = manifest_of({0: first, 1: second}, other)
    return ZooActors(ENVIRONMENT, Path("nowhere"), manifest)


def test_partners_are_the_nearest_and_the_farthest_in_return():
    found = plan.conflict_recipes(actors_of(other=220.0))
    assert tuple(found) == plan.CONFLICT_MIXTURES
    similar, different = (recipe.parts for recipe in found.values())
    assert [(part.seed, part.step) for part in similar] == [(1, 400_000), (100, 160_000)]
    assert [(part.seed, part.step) for part in different] == [(1, 1_000_000), (100, 160_000)]
    low = plan.conflict_recipes(actors_of(other=10.0))["conflict-similar"].parts[0]
    high = plan.conflict_recipes(actors_of(other=800.0))["conflict-different"].parts[0]
    assert (high.seed, high.step) == (0, 200_000)
    assert low.step == 200_000  # the actors at 50,000 steps are no partners


def test_a_zoo_without_other_actors_has_no_such_mixture():
    actors = actors_of(other=None)
    assert plan.conflict_recipes(actors) == {} and actors.others() == []


def test_other_actors_are_no_seed_of_ours():
    actors = actors_of(other=220.0)
    assert actors.seeds() == [0, 1] and actors.others() == [100]
    assert actors.steps(100) == [160_000] and actors.mean_return(100, 160_000) == 220.0


def pendulum_policy() -> Policy:
    rng = np.random.default_rng(0)
    layers = [(3, 8), (8, 1)]
    return Policy(
        tuple(rng.normal(size=shape).astype(np.float32) for shape in layers),
        tuple(np.zeros(shape[1], np.float32) for shape in layers),
        np.array([-2.0], np.float32),
        np.array([2.0], np.float32),
        np.zeros(3, np.float32),
        np.ones(3, np.float32),
    )


def test_an_other_actor_is_stored_described_and_checked(tmp_path):
    pytest.importorskip("gymnasium")
    own = {"runs": {"0": {"actors": {"5": {}}, "curve": [[5, 0.0]]}}}
    manifest = {"environments": {"Pendulum-v1": own}}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    about = {"environment": "Pendulum-v1", "algorithm": "sac", "seed": 2, "steps": 7, "curve": []}
    add_other(tmp_path, about, pendulum_policy())
    actors = ZooActors.open(tmp_path, "Pendulum-v1")
    number = OTHERS_FROM + 2
    assert (actors.seeds(), actors.others()) == ([0], [number])
    path = tmp_path / "Pendulum-v1" / f"seed{number}-step7.safetensors"
    told = actors.runs[str(number)]
    assert told["algorithm"] == "sac" and told["actors"]["7"]["sha256"] == file_hash(path)
    state = np.ones((1, 3), np.float32)
    assert actors.actor(number, 7)(state) == pytest.approx(pendulum_policy()(state), abs=1e-2)
    path.write_bytes(pendulum_policy().to_bytes())
    with pytest.raises(DatasetError, match="is not the actor"):
        actors.actor(number, 7)


def test_the_grid_is_six_agents_on_two_mixtures_an_environment():
    data = {
        environment: {
            name: StudyData(environment, name, Path(name), "", name)
            for name in plan.CONFLICT_MIXTURES
        }
        for environment in plan.ENVIRONMENTS
    }
    cells = conflict_cells(data)
    assert len(cells) == 36 and len({cell.task.key for cell in cells}) == 36
    assert {cell.columns["dataset"] for cell in cells[:18]} == {"conflict-similar"}
    assert all(cell.task.settings["settings"]["updates"] == 150_000 for cell in cells)


def test_progress_tells_no_score():
    done = {"environment": "A", "score": 77.0, "return": 1.5, "diverged_at": None}
    runs = [done, {**done, "return": None, "score": None}, {**done, "environment": "B"}]
    text = progress_table(runs, by="environment")
    assert "| A | 2 | 1 | 0 |" in text and "| B | 1 | 1 | 0 |" in text and "77" not in text
