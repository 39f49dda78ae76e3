"""Ctrl-C and SIGTERM: one line, exit code 130, no crash, no part, no worker left; the same command then goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlassay.engine.inventory import stored_runs

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from fault_commands import settings, write_data
from fault_judge import orphans_of

LONG = ("updates=100000000", "width=8", "batch_size=8", "eval_every=50000000", "eval_episodes=1")
NO_END = ("--set", "critic.settle=false")  # trains to the last step
NO_LEVEL = ("td3.hidden=16", "td3.batch_size=16", "td3.random_steps=200", "levels=0,100000000")
COMMANDS = {
    "train": ("train", "bc", "data.npz", "-o", "run", *settings(LONG)),
    "oracle": ("oracle", "data.npz", "--agents", "bc", "--seeds", "2", *settings(LONG)),
    "score": ("score", "data.npz", "--scores", "q", "--set", "critic.steps=100000000", *NO_END),
    "collect": ("collect", "Pendulum-v1", "-o", "graded", "--seeds", "1", *settings(NO_LEVEL)),
    "convert": ("convert", "data.npz", "out.hdf5"),
}
KEPT = {
    "train": "the last checkpoint in run is kept",
    "oracle": "finished runs and checkpoints are kept",
    "score": "what was finished is kept",
    "collect": "checkpoints and finished datasets are kept",
    "convert": "out.hdf5 is as it was before",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    write_data(folder / "data.npz")
    return folder


def start(folder: Path, name: str, how: signal.Signals) -> subprocess.Popen:
    """The command; `convert` is over too soon to be met, so it sends itself the signal when all is written."""
    environment = {**os.environ, "RLASSAY_STORE": f"{folder}/store"}
    if name == "convert":
        kind = {signal.SIGINT: "int", signal.SIGTERM: "term"}[how]
        environment["RLASSAY_FAULT"] = f"{kind}@1:written out.hdf5"
    command = [sys.executable, "-m", "rlassay", *COMMANDS[name]]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_working(process: subprocess.Popen, folder: Path, name: str) -> bool:
    """The part that takes long has begun."""
    if name == "oracle":
        return any(run.state == "running" for run in stored_runs(folder / "store"))
    return "jaxlib" in Path(f"/proc/{process.pid}/maps").read_text()


INTERRUPTED = [(name, signal.SIGINT) for name in COMMANDS]
INTERRUPTED += [(name, signal.SIGTERM) for name in ("train", "convert")]  # heard by the same thread


@pytest.mark.parametrize(("name", "how"), INTERRUPTED)
def test_one_line_and_130(folder, name, how):
    process = start(folder, name, how)
    if name != "convert":
        while not is_working(process, folder, name):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(how)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert f"rlassay: interrupted; {KEPT[name]}" in err and "Traceback" not in err and out == ""
    assert orphans_of(folder, 60) == []
    assert list(folder.rglob("*.part")) == []
    assert not (folder / "out.hdf5").exists()


def test_a_task_that_was_cut_short_has_not_failed(folder):
    """After the interrupted oracles above no run is called failed."""
    assert list(folder.glob("store/runs/*/*/task.json"))
    assert list(folder.glob("store/runs/*/*/failure.json")) == []


@pytest.mark.parametrize("replaced", [True, False])
def test_a_folder_that_is_being_removed_takes_no_place(tmp_path, replaced):
    """A signal when all is written: the part is half removed while its writer goes on to the last step."""
    target = tmp_path / "steps-v0"
    if replaced:
        target.mkdir()
        (target / "old").touch()
    code = (
        "import os, sys, time, threading, signal, types; from pathlib import Path\n"
        "from rlassay import runtime; from rlassay.engine import files, parts\n"
        "half = threading.Event(); runtime.leave_on_signals()\n"
        "def remove(path, **_): [each.unlink() for each in Path(path).iterdir()]; half.set(); time.sleep(1)\n"
        "def reached(event, path): event == 'written' and (os.kill(os.getpid(), signal.SIGTERM), half.wait())\n"
        "parts.shutil = types.SimpleNamespace(rmtree=remove); files.reached = reached\n"
        "with files.replacing_folder(Path(sys.argv[1])) as part: (part / 'new').touch()"
    )
    done = subprocess.run([sys.executable, "-c", code, target], capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert [each.name for each in target.glob("*")] == (["old"] if replaced else [])
    assert target.exists() == replaced


def test_work_that_fails_while_the_process_ends_says_nothing(tmp_path):
    """What is half written is removed under the writer's hands; the code stays that of the interruption."""
    write_data(tmp_path / "data.npz")
    code = (
        "import os, sys, time, threading, signal; from rlassay import runtime, formats; from rlassay.cli import main\n"
        "runtime.leave_on_signals(); gone = threading.Event()\n"
        "runtime.before_leaving(lambda: (gone.set(), time.sleep(1)))\n"
        "def fails(*a, **k): os.kill(os.getpid(), signal.SIGTERM); gone.wait(); raise OSError('no such part')\n"
        "formats.load = fails; sys.argv = ['rlassay', 'convert', 'data.npz', 'out.npz']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("rlassay: interrupted; ") and done.stderr.count("\n") == 1
