"""What the studies plan can be made from the zoo of this checkout."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest

from rlassay.collect import graded
from rlassay.collect.graded import RolloutSettings
from rlassay.collect.recipes import RANDOM_STEP
from rlassay.collect.sources import ZooActors
from rlassay.oracle import LONG_AGENTS, settings_of
from rlassay.study import conflict, long
from rlassay.study.grid import plan
from rlassay.study.grid.data import StudyData, identity_of
from rlassay.study.grid.training import training_cells

ROOT = Path(__file__).parents[2]
ZOO, RESULTS = ROOT / "zoo", ROOT / "results"


def test_fresh_mixtures_share_no_policy_set_with_the_first():
    actors = ZooActors.open(ZOO, "Hopper-v5")
    first, fresh = plan.study_recipes(actors), plan.fresh_recipes(actors)
    assert tuple(fresh) == plan.FRESH_MIXTURES
    assert not {recipe.parts for recipe in fresh.values()} & {
        recipe.parts for recipe in first.values()
    }


@pytest.mark.parametrize("environment", plan.ENVIRONMENTS)
def test_the_zoo_holds_every_policy_of_the_studies(environment):
    actors = ZooActors.open(ZOO, environment)
    recipes = plan.study_recipes(actors) | plan.fresh_recipes(actors)
    conflicting = plan.conflict_recipes(actors)
    assert tuple(conflicting) == plan.CONFLICT_MIXTURES
    for recipe in (recipes | conflicting).values():
        for part in recipe.parts:
            assert part.step == RANDOM_STEP or part.step in actors.steps(part.seed), recipe.name


def planned(names, transitions=100_000):
    """The studies' datasets by what they are made of, without rolling anything out."""
    found = {}
    for environment in plan.ENVIRONMENTS:
        actors = ZooActors.open(ZOO, environment)
        recipes = plan.study_recipes(actors) | plan.fresh_recipes(actors)
        recipes |= plan.conflict_recipes(actors)
        settings = RolloutSettings(transitions)
        found[environment] = {
            name: StudyData(
                environment, name, Path(name), "", identity_of(actors, recipes[name], settings)
            )
            for name in names
        }
    return found


@pytest.fixture
def software_of_the_results(monkeypatch):
    """The versions that the committed data was rolled out with: they are part of its identity."""
    software = json.loads((RESULTS / "table1" / "runs.json").read_text())["software"]
    names = ("gymnasium", "mujoco", "numpy", "jax")
    monkeypatch.setattr(
        graded, "software_versions", lambda: {name: software[name] for name in names}
    )


def committed_keys(study):
    with open(RESULTS / study / "runs.csv", newline="") as file:
        return [row["key"] for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("study", "names"), [("table1", plan.ORACLE_DATASETS), ("confirm", plan.FRESH_MIXTURES)]
)
def test_no_committed_run_is_asked_for_again(study, names, software_of_the_results):
    data = [each for datasets in planned(names).values() for each in datasets.values()]
    asked = {cell.task.key for cell in training_cells(data, plan.AGENTS, [0], "lite")}
    assert asked == set(committed_keys(study)) and len(asked) == len(committed_keys(study))


def test_the_long_grid_asks_for_its_committed_rows(software_of_the_results):
    cells = long.long_cells(planned((*long.MIXTURES, *long.OTHERS)))
    assert len(long.MIXTURES) * 3 == 27 and len(long.OTHERS) * 3 == 15
    assert len({cell.task.key for cell in cells}) == len(cells) == (27 + 15 + 27) * 6
    if (RESULTS / "long" / "runs.csv").exists():
        assert set(committed_keys("long")) == {cell.task.key for cell in cells}


def test_the_conflict_grid_asks_for_its_committed_rows(software_of_the_results):
    cells = conflict.conflict_cells(planned(plan.CONFLICT_MIXTURES))
    assert len({cell.task.key for cell in cells}) == 36
    assert set(committed_keys("conflict")) == {cell.task.key for cell in cells}


def test_long_is_lite_but_for_its_budget():
    lite, lasting = settings_of(LONG_AGENTS, "lite", {}), settings_of(LONG_AGENTS, "long", {})
    budget = {
        "updates": 150_000,
        "eval_every": 10_000,
        "final_evaluations": 3,
        "final_eval_episodes": 20,
    }
    for agent in LONG_AGENTS:
        assert dataclasses.replace(lite[agent], **budget) == lasting[agent]
