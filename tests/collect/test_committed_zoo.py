"""The zoo of the checkout: every actor the manifest names is there, plays, and gives the same data twice."""

import json
from pathlib import Path

import numpy as np
import pytest

from rlassay.collect.graded import RolloutSettings, roll_out
from rlassay.collect.recipes import Part, Recipe
from rlassay.collect.settings import (
    PAPER_LEVELS,
    CollectSettings,
    DQNSettings,
    TD3Settings,
    levels_of,
)
from rlassay.collect.sources import ZooActors

ZOO = Path(__file__).parents[2] / "zoo"
MANIFEST = json.loads((ZOO / "manifest.json").read_text())
ENVIRONMENTS = list(MANIFEST["environments"])


def levels(env_id):
    """The levels of the collector that trained the environment's actors, and how often it was evaluated."""
    if MANIFEST["environments"][env_id].get("collector", "td3") == "td3":
        return PAPER_LEVELS, TD3Settings().eval_every
    settings = DQNSettings().for_environment(env_id)
    return levels_of(CollectSettings(), settings), settings.eval_every


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_manifest_and_files_agree(env_id):
    environment = MANIFEST["environments"][env_id]
    named = {
        f"seed{seed}-step{step}.safetensors"
        for runs in (environment["runs"], environment.get("others", {}))
        for seed, run in runs.items()
        for step in run["actors"]
    }
    assert {path.name for path in (ZOO / env_id).iterdir()} == named
    assert len(environment["runs"]) >= 2
    for run in environment["runs"].values():
        assert {str(step) for step in levels(env_id)[0] if step} <= set(run["actors"])
        for step, actor in run["actors"].items():
            assert len(actor["sha256"]) == 64, step
    replay = environment["replay"]
    steps = {int(step) for step in environment["runs"][str(replay["seed"])]["actors"]}
    every = levels(env_id)[1]
    assert set(range(every, replay["medium_step"] + 1, every)) <= steps


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_actor_is_the_one_described(env_id):
    actors = ZooActors.open(ZOO, env_id)
    for seed in (*actors.seeds(), *actors.others()):
        for step in actors.steps(seed):
            assert actors.actor(seed, step).metadata["step"] == str(step)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_actor_plays_as_the_manifest_says(env_id):
    actors = ZooActors.open(ZOO, env_id)
    seed = actors.seeds()[0]
    last = max(levels(env_id)[0])
    recipe = Recipe("expert", (Part(seed, last),), "the last actor")
    data = roll_out(actors, recipe, RolloutSettings(2_000, noise=0.0))
    said = MANIFEST["environments"][env_id]["runs"][str(seed)]["actors"][str(last)]
    spread = said["standard_error"] * np.sqrt(said["episodes"])
    assert data.episode_returns[0] == pytest.approx(said["mean_return"], abs=6 * spread + 1)
    again = roll_out(actors, recipe, RolloutSettings(2_000, noise=0.0))
    assert again.fingerprint == data.fingerprint
