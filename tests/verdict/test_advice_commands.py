"""Commands of the advice work as they are printed."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from verdict_data import CALIBRATION, NO_FAULT, episodes_of

from rlassay.cli import app
from rlassay.formats import load, save
from rlassay.inspection import inspect
from rlassay.verdict.commands import command_for, free_name, reading_options, simulator_of
from rlassay.verdict.verdict import verdict_of

QUICK = [
    "--set",
    "updates=20",
    "--set",
    "eval_every=10",
    "--set",
    "eval_episodes=1",
    "--set",
    "width=4",
]


def run(command: str, *more: str):
    words = shlex.split(command)
    assert words[0] == "rlassay"
    ended = CliRunner().invoke(app, [*words[1:], *more])
    assert ended.exit_code == 0, ended.output
    return ended


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = episodes_of(np.linspace(-1000, -100, 30), 40, dims=(3, 1), env_id="Pendulum-v1")
    save(data, "swing up.npz")
    return "swing up.npz"


@pytest.mark.parametrize("action", ["clone", "offline-rl"])
def test_training(file, action):
    command = command_for(action, load(file), "iql", "", False)
    agent = {"clone": "bc", "offline-rl": "iql"}[action]
    assert (
        command
        == f"rlassay train {agent} 'swing up.npz' --env Pendulum-v1 -o 'runs/swing up-{agent}'"
    )
    run(command, *QUICK)
    assert (Path("runs") / f"swing up-{agent}" / "policy.safetensors").exists()


def test_cloning_without_rewards(file):
    from probes import with_columns

    data = load(file)
    save(with_columns(data, rewards=None), "demos.npz")
    verdict, _ = verdict_of(load("demos.npz"), None, NO_FAULT, "", CALIBRATION)
    assert verdict is not None and verdict["label"] == "not-rankable"
    run(verdict["advice"]["command"], *QUICK)


def test_keeping_the_best_part(file):
    run(command_for("clone-best-part", load(file), "iql", "", False))
    kept = load("swing up-best.npz")
    assert kept.episode_count == 6
    assert kept.episode_returns.min() >= np.sort(load(file).episode_returns)[-6] - 1e-3


def test_more_data_begins_with_a_look_at_what_there_is(file):
    run(command_for("collect-more", load(file), "iql", "", False))


def test_repair(file):
    data = load(file)
    actions = np.array(data.actions)
    actions[5] = np.nan
    np.savez(
        "broken.npz",
        observations=data.observations,
        actions=actions,
        rewards=data.rewards,
        terminals=data.terminals,
        timeouts=data.timeouts,
    )
    broken = load("broken.npz")
    inspection = inspect(broken).to_dict()
    verdict, _ = verdict_of(broken, None, inspection, "rlassay score broken.npz", CALIBRATION)
    assert verdict is not None and verdict["advice"]["action"] == "repair"
    run(verdict["advice"]["command"])
    assert inspect(load("broken-repaired.npz")).status != "fail"


def test_a_task_without_a_simulator_is_handed_to_other_trainers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(episodes_of(np.linspace(0, 10, 30), 40), "plant.npz")
    run(command_for("offline-rl", load("plant.npz"), "iql", "", False))
    assert load("plant-train.hdf5").episode_count == 30


def test_options_of_reading_are_repeated(file):
    scored = "rlassay score 'swing up.npz' --max-episode-steps 20 --format=npz --seeds 3"
    assert reading_options(scored) == {"--max-episode-steps": "20", "--format": "npz"}
    command = command_for("clone-best-part", load(file), "iql", scored, False)
    run(command)
    assert load("swing up-best.npz").episode_lengths.max() == 20


def test_data_in_memory_have_no_command():
    assert command_for("clone", episodes_of([1.0, 2.0]), "iql", "", False) == ""


@pytest.mark.parametrize(
    ("named", "simulator"),
    [
        ("Hopper-v4", "Hopper-v4"),
        ("hopper-medium-v2", "Hopper-v5"),
        ("mujoco/walker2d/expert-v0", "Walker2d-v5"),
        ("Lift", None),
        ("pkg:Hopper-v5", None),
        (None, None),
    ],
)
def test_simulators_by_name(named, simulator):
    assert simulator_of(episodes_of([1.0, 2.0], env_id=named)) == simulator


def test_a_name_is_never_taken(tmp_path):
    (tmp_path / "x-best.npz").touch()
    assert free_name(tmp_path / "x.npz", "best").name == "x-best2.npz"


def test_the_command_stands_in_the_card(file):
    ended = CliRunner().invoke(app, ["score", file, "--scores", "return", "--json", "-"])
    advice = json.loads(ended.stdout)["verdict"]["advice"]
    assert "train" in advice["command"] and advice["action"] in ("clone", "offline-rl")
