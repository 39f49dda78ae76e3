"""The GitHub Action and the pre-commit hook: their own words are read from their files and run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from test_inspect import good, put

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Data, and a folder with the command `rlassay` of this checkout, as after an installation."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "bin").mkdir()
    command = folder / "bin" / "rlassay"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rlassay "$@"\n')
    command.chmod(0o755)
    np.savez(folder / "good.npz", **good())
    np.savez(folder / "warned one.npz", **good(actions=put(4, 1.001)))
    return folder


def run_action(desk, **inputs):
    """Every step of the action in order, with the inputs where GitHub would put them; the last step's result."""
    defaults = {name: spec.get("default", "") for name, spec in ACTION["inputs"].items()}
    values = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
    done = None
    for step in ACTION["runs"]["steps"]:
        mapped = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m.group(1)], text)
            for name, text in step.get("env", {}).items()
        }
        path = f"{desk / 'bin'}:{os.environ['PATH']}"
        environment = os.environ | mapped | {"PATH": path, "GITHUB_ACTION_PATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-c", step["run"]], cwd=desk, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            return done
    assert done is not None
    return done


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({"paths": "good.npz"}, 0, ""),
        ({"paths": "good.npz\nwarned one.npz\n"}, 1, "::error file=warned one.npz"),
        ({"paths": "*.npz", "strict": "false"}, 0, "::warning file=warned one.npz"),
        ({"paths": "good.npz", "fail_if": "return > 1\nepisodes < 5"}, 1, "return > 1"),
        ({"paths": "good.npz", "fail_if": "$(touch hacked) > 1"}, 2, "NAME OP VALUE"),
        ({"paths": "good.npz; touch hacked"}, 2, "does not exist"),
        ({"paths": "--version"}, 2, "does not exist"),
        ({"paths": "\n"}, 2, "no path is named"),
        ({"paths": "good.npz", "command": "train"}, 2, "inspect or score"),
    ],
    ids=str,
)
def test_the_action_judges(desk, inputs, code, said):
    done = run_action(desk, **inputs)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (desk / "hacked").exists()


def test_rules_and_junit_reach_the_command(desk):
    command = [str(desk / "bin/rlassay"), "learn", "good.npz", "-o", "rules.toml"]
    subprocess.run(command, cwd=desk, check=True, env=os.environ, capture_output=True)
    done = run_action(desk, paths="good.npz", rules="rules.toml", junit="out.xml")
    assert done.returncode == 0, done.stderr
    assert 'name="rules.returns"' in (desk / "out.xml").read_text()


def test_the_hook_runs_on_what_it_names(desk):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert re.search(hook["files"], "data/x.hdf5") and not re.search(hook["files"], "x.py")
    for name, code in (("good.npz", 0), ("warned one.npz", 1)):
        words = [*shlex.split(hook["entry"]), name]
        done = subprocess.run([str(desk / "bin" / words[0]), *words[1:]], cwd=desk, env=os.environ)
        assert done.returncode == code
