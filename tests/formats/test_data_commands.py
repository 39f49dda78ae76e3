"""`rlassay inspect` and `rlassay convert` as a user runs them."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from io_layouts import FLAGGED, d4rl, minari, npz, record

from rlassay.formats import load


def rlassay(*arguments, **environment):
    command = [sys.executable, "-c", "from rlassay.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.fixture
def broken(tmp_path):
    path = npz(record(FLAGGED), tmp_path)
    with np.load(path) as archive:
        columns = dict(archive)
    columns["rewards"][5] = np.nan
    np.savez(path, **columns)
    return path


def test_inspect_table_and_exit_codes(tmp_path, broken):
    fine = rlassay("inspect", d4rl(record(FLAGGED), tmp_path))
    assert fine.returncode == 0
    assert (
        "WARN" in fine.stdout
        and "size" in fine.stdout
        and "FAIL" not in fine.stdout.splitlines()[-1]
    )
    failed = rlassay("inspect", broken)
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[-1].startswith("FAIL: 1 failed")
    missing = rlassay("inspect", tmp_path / "nothing.hdf5")
    assert missing.returncode == 2 and missing.stdout == ""
    assert missing.stderr.count("\n") == 1 and "does not exist" in missing.stderr


def test_inspect_json_owns_stdout(broken, tmp_path):
    done = rlassay("inspect", broken, "--json", "-")
    value = json.loads(done.stdout)
    assert done.returncode == 1 and value["status"] == "fail"
    assert next(c for c in value["checks"] if c["name"] == "finite")["rows"] == [5]
    done = rlassay(
        "inspect", broken, "--json", tmp_path / "x.json", "--markdown", tmp_path / "x.md"
    )
    assert json.loads((tmp_path / "x.json").read_text()) == value
    assert "| FAIL | `finite` |" in (tmp_path / "x.md").read_text()
    assert "FAIL" in done.stdout


def test_inspect_markdown_on_stdout(broken):
    done = rlassay("inspect", broken, "--markdown", "-")
    assert done.stdout.startswith("# Inspection of") and done.returncode == 1


def test_read_options_reach_the_reader(tmp_path):
    path = d4rl(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        del file["timeouts"]
    done = rlassay("inspect", path, "--max-episode-steps", "3", "--env", "Thing-v0", "--json", "-")
    value = json.loads(done.stdout)
    assert value["dataset"]["env_id"] == "Thing-v0"
    assert (
        "lengths from 1 to 3"
        in next(c for c in value["checks"] if c["name"] == "episode_lengths")["message"]
    )
    wrong = rlassay("inspect", path, "--mask", "best")
    assert wrong.returncode == 2 and "has no masks" in wrong.stderr


def test_convert_says_what_is_lost_and_refuses_to_overwrite(tmp_path):
    source = d4rl(record(FLAGGED), tmp_path)
    done = rlassay("convert", source, tmp_path / "out-v0")
    assert done.returncode == 0 and done.stdout == ""
    assert (
        "no place for the arrays" in done.stderr
        and "wrote 18 transitions in 4 episodes" in done.stderr
    )
    assert load(tmp_path / "out-v0").fingerprint == load(source).fingerprint
    again = rlassay("convert", source, tmp_path / "out-v0")
    assert again.returncode == 2 and "--force" in again.stderr and again.stderr.count("\n") == 1
    assert (
        rlassay(
            "convert", source, tmp_path / "out-v0", "--force", "--to", "minari-arrow"
        ).returncode
        == 0
    )
    assert load(tmp_path / "out-v0").origin.metadata["data_format"] == "arrow"


def test_convert_from_a_minari_id(tmp_path):
    minari(record(FLAGGED), tmp_path)
    done = rlassay(
        "convert", "probe/steps-hdf5-v0", tmp_path / "x.npz", MINARI_DATASETS_PATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert len(load(tmp_path / "x.npz")) == 18


@pytest.mark.parametrize(
    "arguments", [["--help"], ["inspect", "--help"], ["inspect", "FILE"], ["inspect", "FOLDER"]]
)
def test_neither_jax_nor_a_simulator_is_imported(arguments, tmp_path):
    paths = {"FILE": d4rl(record(FLAGGED), tmp_path), "FOLDER": minari(record(FLAGGED), tmp_path)}
    arguments = [str(paths.get(a, a)) for a in arguments]
    code = (
        "import sys\nfrom rlassay.cli import main\n"
        f"sys.argv = ['rlassay', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'jax', 'jaxlib', 'mujoco', 'torch', 'ott', 'matplotlib', 'bokeh'}\n"
        "light = {'numpy', 'h5py', 'scipy', 'pyarrow', 'minari', 'gymnasium'}\n"
        "print(sorted(heavy & set(sys.modules)), sorted(light & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, _, light = done.stderr.splitlines()[-1].partition("] [")
    assert heavy == "["
    if "--help" in arguments:
        assert light == "]", "help must answer at once"
