"""Datasets of the studies in the store: the file beside one may be damaged, which costs that dataset and stops nobody."""

import json

import pytest

from rlassay.collect.graded import RolloutSettings
from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.sources import RunActors
from rlassay.study.grid.data import stored_dataset

RANDOM = Recipe("random", (Part(0, RANDOM_STEP),), "uniform random actions")


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"fingerprint": 3}'])
def test_damage_beside_a_dataset_is_set_aside_and_the_dataset_made_again(
    tmp_path, monkeypatch, capsys, content
):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path))
    actors, told = RunActors("Pendulum-v1", {0: tmp_path / "none"}), []
    first = stored_dataset(actors, RANDOM, RolloutSettings(200), told.append)
    beside = first.path.with_suffix(".json")
    whole = beside.read_text()
    assert stored_dataset(actors, RANDOM, RolloutSettings(200), told.append) == first
    assert len(told) == 1
    beside.write_text(content)
    assert stored_dataset(actors, RANDOM, RolloutSettings(200), told.append) == first
    assert len(told) == 2 and json.loads(beside.read_text()) == json.loads(whole)
    assert beside.with_name(f"{beside.name}.damaged-1").read_text() == content
    assert f"{beside} is damaged" in capsys.readouterr().err
