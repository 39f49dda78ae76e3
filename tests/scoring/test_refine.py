"""`score --refine`: a clone in a learned world, told as information unless the calibration chose to go by it."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import rlassay
from rlassay.cli import app
from rlassay.data.dataset import Dataset
from rlassay.formats import save
from rlassay.scoring import refine, settings
from rlassay.scoring.settings import BaselineSettings
from rlassay.scoring.stored import card_task
from rlassay.verdict import world
from rlassay.verdict.calibration import Chosen, packaged
from rlassay.verdict.forecast import measured_names

SMALL = world.WorldSettings(members=2, width=16, steps=200, rollouts=8, batch_size=64)


@pytest.fixture(autouse=True)
def small_fits(monkeypatch):
    monkeypatch.setattr(world, "WorldSettings", lambda: SMALL)
    monkeypatch.setattr(settings, "BaselineSettings", partial(BaselineSettings, fit_steps=500))


def recorded(episodes=40, length=30, discrete=False, **changes) -> Dataset:
    rng = np.random.default_rng(0)
    count = episodes * length
    states = rng.normal(size=(count, 3)).astype(np.float32)
    actions = np.tanh(states[:, :1] + 0.1 * rng.normal(size=(count, 1))).astype(np.float32)
    columns = {
        "observations": states,
        "actions": rng.integers(0, 2, count) if discrete else actions,
        "rewards": (1 + 0.1 * states[:, 0]).astype(np.float32),
        "next_observations": np.roll(states, -1, axis=0),
        "terminals": np.zeros(count, bool),
        "timeouts": np.arange(1, count + 1) % length == 0,
        "episode_starts": np.arange(0, count, length),
    }
    return Dataset.from_columns(**(columns | changes))


def test_a_card_tells_what_a_clone_earns_in_the_learned_world():
    card = rlassay.score(recorded(), refine=True)
    told = card.diagnosis["refine"]
    assert told["data_return"] == pytest.approx(float(recorded().episode_returns.mean()))
    assert 0 <= told["world_loss"] <= 1 and told["rollouts"] == 16
    assert told["processor_seconds"] > 0 and "--refine" in card.command
    assert card.verdict is not None and len(card.verdict["evidence"]) == 4
    assert "In a world learned from the file a clone earns" in card.verdict["evidence"][3]
    json.dumps(card.to_dict(), allow_nan=False)


def test_without_the_flag_nothing_of_it_is_there():
    card = rlassay.score(recorded())
    assert "refine" not in card.diagnosis and "--refine" not in card.command
    assert card.verdict is not None and len(card.verdict["evidence"]) == 3


def test_the_forecast_is_the_same_while_the_calibration_does_not_go_by_it():
    assert packaged().refined is None  # nothing is chosen on the lite oracle
    plain, refined = (rlassay.score(recorded(), refine=asked).verdict for asked in (False, True))
    assert plain is not None and refined is not None
    for part in ("label", "cloning", "offline_rl"):
        assert refined[part] == plain[part]
    assert refined["advice"]["action"] == plain["advice"]["action"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rewards": None}, "no rewards"),
        ({"rewards": np.ones(1_200, np.float32)}, "no rewards"),
        ({"discrete": True}, "continuous actions"),
        ({"episodes": 5}, "too small"),
    ],
)
def test_a_file_that_allows_no_learned_world_says_why(changes, why):
    found, cautions = refine.refine(recorded(**changes))
    assert found == {} and len(cautions) == 1
    assert cautions[0].code == "not_refined" and why in cautions[0].message


def test_what_a_calibration_reads_is_measured_and_nothing_else(monkeypatch):
    by_conflict = {"cloning": "conflict", "offline_rl": "learned world"}
    chosen = replace(
        packaged(), refined=Chosen(by_conflict, {}, {"cloning": 0.5, "offline_rl": 0.5})
    )
    assert measured_names(packaged()) == [] and measured_names(chosen) == ["conflict", "world_loss"]
    monkeypatch.setattr(refine, "packaged", lambda: chosen)
    found, _ = refine.refine(recorded())
    assert 0 <= found["conflict"] <= 1 and "best_tenth_error" not in found


def test_cloning_errors_tell_conflict_from_agreement():
    """At the first steps half of the episodes push one way and half the other, in equal states; later all agree."""
    episodes, length = 60, 30
    step = np.tile(np.arange(length), episodes)
    side = np.repeat(np.where(np.arange(episodes) % 2, 1.0, -1.0), length)
    rng = np.random.default_rng(0)
    actions = np.where(step < 20, side, np.sin(step)) + 0.01 * rng.normal(size=len(step))
    states = np.column_stack([np.sin(step), np.cos(step), step / length]).astype(np.float32)
    torn = recorded(
        episodes, length, observations=states, actions=actions[:, None].astype(np.float32)
    )
    agreed = recorded(episodes, length, observations=states, actions=states[:, :1])
    assert refine.cloning_error(torn, 0, first_steps=20) > 0.8
    assert refine.cloning_error(agreed, 0, first_steps=20) < 0.05


def test_a_refined_card_is_kept_under_a_key_of_its_own():
    from rlassay.scoring.settings import plan

    data = recorded()
    given = (data, plan("default", None), ["return"], [0], None, {})
    keys = {card_task(*given, refine=asked).key for asked in (False, True)}  # type: ignore[union-attr]
    assert len(keys) == 2


def test_the_command(tmp_path):
    source, out = tmp_path / "data.npz", tmp_path / "card.json"
    save(recorded(), source)
    ended = CliRunner().invoke(
        app, ["score", str(source), "--refine", "--no-store", "--json", str(out)]
    )
    assert ended.exit_code == 0, ended.output
    assert json.loads(out.read_text())["diagnosis"]["refine"]["rollouts"] == 16
    assert "In a world learned from the file" in ended.output
