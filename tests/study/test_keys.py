"""The keys of committed runs come out as they were: nothing that has been trained is asked for again.

Every row of `results/*/runs.csv` is rebuilt from what its columns say: the agent's settings under its profile and
variant, the recipe of its dataset, the actors of the zoo, and the versions that stand beside the table.
"""

import functools
import json
from pathlib import Path

import pytest

from rlassay.collect import graded
from rlassay.collect.graded import RolloutSettings
from rlassay.collect.sources import ZooActors
from rlassay.oracle import make_task, settings_of
from rlassay.settings import identifying
from rlassay.study import fig1, parts, table2, worlds
from rlassay.study.grid.data import identity_of, part_identity
from rlassay.study.grid.files import read_table
from rlassay.study.grid.plan import LITE, LONG, conflict_recipes, fresh_recipes, study_recipes

ROOT = Path(__file__).parents[2]
ROWS = {"table1": 210, "confirm": 84, "fig1": 60, "table2": 66, "long": 414, "conflict": 36}
ROWS |= {"parts": 48, "worlds": 54}
PROFILES = {"lite": LITE, "long": LONG}
VERSIONS = ("gymnasium", "mujoco", "numpy", "jax")


def about(study: str) -> dict:
    return json.loads((ROOT / "results" / study / "runs.json").read_text())


@functools.cache
def actors_and_recipes(environment: str):
    if environment in worlds.STEPS:
        actors = ZooActors.open(worlds.zoo_of_worlds(ROOT / "zoo"), environment)
        return actors, worlds.World(environment).recipes()
    actors = ZooActors.open(ROOT / "zoo", environment)
    return actors, study_recipes(actors) | fresh_recipes(actors) | conflict_recipes(actors)


def key_of(study: str, row: dict, profile: str) -> str:
    actors, recipes = actors_and_recipes(row["environment"])
    rollout = RolloutSettings(PROFILES[profile].transitions)
    identity = identity_of(actors, recipes[row["dataset"]], rollout)
    if study == "parts":
        identity = part_identity(identity, parts.PART)
    agent = row["agent"]
    settings = settings_of([agent], profile, variant(study, row["variant"]))[agent]
    data = {"identity": identity}
    return make_task(agent, settings, row["environment"], int(row["seed"]), data).key


def variant(study: str, name: object) -> dict:
    """What the study changes in the agent's settings, by the name it gives the change."""
    if study == "worlds":
        return {"updates": worlds.UPDATES}
    if study == "fig1":
        weight = fig1.WITHOUT_CLONING if name == float("inf") else float(str(name))
        return {"td3bc.value_weight": weight}
    if study == "table2" and name not in table2.VARIANTS:
        weight = float(str(name).removeprefix("bwd weight "))
        return {"iql.regulariser": "bwd", "iql.bwd_weight": weight}
    return table2.VARIANTS[str(name)] if study == "table2" else {}


@pytest.mark.parametrize("study", ROWS)
def test_every_committed_run_keeps_its_key(study, monkeypatch):
    described = about(study)
    recorded = {name: described["software"][name] for name in VERSIONS}
    monkeypatch.setattr(graded, "software_versions", lambda: recorded)
    rows = read_table(ROOT / "results" / study / "runs.csv")
    assert len(rows) == ROWS[study]
    found = {row["key"]: key_of(study, row, described.get("profile", "long")) for row in rows}
    assert all(key == again for key, again in found.items())


def test_the_settings_of_curation_runs_are_named_as_they_were():
    """Their keys hold fingerprints of rolled out data; their settings stand beside the table."""
    for agent, recorded in about("curation")["agents"].items():
        assert identifying(settings_of([agent], "lite", {})[agent]) == recorded
