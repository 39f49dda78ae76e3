"""Every remedy that `inspect` prints is a command that works as printed, or says plainly what to do elsewhere."""

import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import rlassay
from rlassay.errors import DatasetError
from rlassay.formats import load
from rlassay.inspection import inspect, inspect_source
from rlassay.inspection.results import filled, repaired_name
from test_inspect import FAULTS, good

COMMAND = re.compile(r"`([^`]*)`")
BETTER = {"fail": ("warn", "pass"), "warn": ("pass",)}
# What no command can bring back: it was never recorded, or only a person knows.
ELSEWHERE = {
    "no rewards",
    "constant rewards",
    "saturated",
    "dead observation",
    "dead action",
    "endless",
    "outlying return",
    "few rows",
    "choices below 0",  # what a number stands for
}


def run(command, cwd):
    words = shlex.split(command)
    assert words[0] == "rlassay"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return words[words.index("-o") + 1]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_remedy_works_as_printed(fault, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, status, columns, _ = FAULTS[fault]
    np.savez("my data.npz", **{n: c for n, c in columns.items() if c is not None})
    remedy = inspect_source("my data.npz")[name].remedy
    commands = COMMAND.findall(remedy)
    assert bool(commands) == (fault not in ELSEWHERE), remedy
    if not commands:
        assert "rlassay " not in remedy
    for command in commands:
        out = run(command, tmp_path)
        assert inspect_source(out)[name].status in BETTER[status]


def test_score_refuses_what_is_not_finite_with_the_command_that_mends_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("my data.npz", **{n: c for n, c in FAULTS["nan"][2].items() if c is not None})
    with pytest.raises(DatasetError, match="rewards of my data.npz are not finite") as told:
        rlassay.score("my data.npz")
    out = run(COMMAND.findall(str(told.value))[0], tmp_path)
    assert inspect_source(out)["finite"].status == "pass"


def test_joined_episodes_of_a_known_task(tmp_path, monkeypatch):
    """The limit is known: both checks offer the cut, and it mends both."""
    monkeypatch.chdir(tmp_path)
    columns = good(timeouts=np.zeros(2_000, bool), terminals=np.zeros(2_000, bool))
    columns["rewards"] = np.full(2_000, 8.0) + columns["rewards"]
    np.savez("x.npz", **columns, env_id="Hopper-v5")
    for name in ("episode_lengths", "episode_returns"):
        before = inspect_source("x.npz")[name]
        assert before.status == "fail"
        (command,) = COMMAND.findall(before.remedy)
        assert inspect_source(run(command, tmp_path))[name].status == "pass"


def test_reading_options_are_repeated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = good(rewards=None, timeouts=None)
    columns["observations"] = columns["observations"].copy()
    columns["observations"][7] = np.nan
    np.savez("x.npz", **columns)
    options = {"format": "npz", "max_episode_steps": 50}
    remedy = inspect_source("x.npz", **options)["finite"].remedy
    (command,) = COMMAND.findall(remedy)
    assert "--format npz --max-episode-steps 50" in command
    out = run(command, tmp_path)
    assert load(out).episode_lengths.max() == 50


def test_the_output_is_never_in_the_way(tmp_path):
    source = tmp_path / "x.hdf5"
    assert repaired_name(source).name == "x-repaired.hdf5"
    (tmp_path / "x-repaired.hdf5").touch()
    assert repaired_name(source).name == "x-repaired2.hdf5"
    (tmp_path / "door-v2").mkdir()
    assert repaired_name(tmp_path / "door-v2").name == "door-repaired-v2"
    assert repaired_name(tmp_path / "demos.parquet").name == "demos-repaired.npz"


def test_several_findings_are_offered_one_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = good(
        rewards=FAULTS["nan"][2]["rewards"], actions=FAULTS["actions far outside"][2]["actions"]
    )
    np.savez("x.npz", **columns)
    done = subprocess.run(
        [sys.executable, "-m", "rlassay", "inspect", "x.npz"], capture_output=True, text=True
    )
    command = done.stdout.splitlines()[-1].strip()
    assert command == "rlassay repair x.npz -o x-repaired.npz"
    assert inspect_source(run(command, tmp_path)).status == "pass"


def test_data_in_memory_names_the_call():
    import rlassay

    columns = FAULTS["nan"][2]
    remedy = inspect(load(columns))["finite"].remedy
    (call,) = re.findall(r"rlassay\.repair_dataset\(.*?\)", remedy)
    result = eval(call, {"rlassay": rlassay, "data": load(columns)})
    assert result.after["finite"].status == "pass"


def test_no_placeholder_is_ever_shown():
    data = load(good())
    for columns in (fault[2] for fault in FAULTS.values()):
        assert all("{" not in check.remedy for check in inspect(load(columns)).checks)
    assert filled("as it is", data, {}) == "as it is"
