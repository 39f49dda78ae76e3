"""The store survives damage: a broken file is set aside and its work is done again; `rlassay runs` tells and cleans."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probes import python_path
from rlassay.engine.inventory import stored_runs
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore, Task

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path(HERE))


@pytest.fixture
def store(tmp_path):
    """A finished, a failed and a stopped run."""
    store = RunStore(tmp_path / "store")
    tasks = [task("double", 1), task("refuse", 2)]
    LocalEngine(1).run(tasks, store)
    store.begin(task("double", 3))
    return store


def task(function: str, number: int) -> Task:
    settings = {"number": number, "inner": {"rate": 0.5}}
    return Task("test", f"engine_tasks:{function}", settings, label=f"number {number}")


@pytest.mark.parametrize(
    "content", [b"", b'{"value": 2', b"\0" * 40], ids=["empty", "cut", "zeros"]
)
def test_a_damaged_result_is_made_again(store, capsys, content):
    one = task("double", 1)
    path = store.folder(one) / "result.json"
    before = path.read_bytes()
    path.write_bytes(content)
    [outcome] = LocalEngine(1).run([one], store)
    assert not outcome.cached and path.read_bytes() == before
    assert (store.folder(one) / "result.json.damaged-1").read_bytes() == content
    assert f"{path} is damaged" in capsys.readouterr().err


def test_a_damaged_task_or_failure_stops_nobody(store):
    two = task("refuse", 2)
    for name in ("task.json", "failure.json"):
        (store.folder(two) / name).write_bytes(b"")
    [outcome] = LocalEngine(1).run([two], store)
    assert outcome.failure == "the file is empty; name another"


def runs(store, *words) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "rlassay", "runs", *words, "--store", str(store.root)]
    return subprocess.run(command, capture_output=True, text=True)


def test_list_tells_what_when_how_large_and_in_which_state(store):
    found = json.loads(runs(store, "list", "--json", "-").stdout)
    states = {run["label"]: run["state"] for run in found["runs"]}
    assert states == {"number 1": "done", "number 2": "failed", "number 3": "stopped"}
    assert all(run["size"] > 0 and abs(run["when"] - time.time()) < 3600 for run in found["runs"])
    only = runs(store, "list", "--state", "failed").stdout
    assert "number 2" in only and "number 1" not in only and "1 run," in only
    assert runs(store, "list", "--state", "odd").returncode == 2
    heading, *lines = runs(store, "list").stdout.splitlines()
    assert heading.split() == ["key", "state", "age", "size", "what"]
    keys = {task("double", 1).key[:8], task("refuse", 2).key[:8], task("double", 3).key[:8]}
    assert {line.split()[0] for line in lines[:3]} == keys
    assert all(len(line) <= 80 for line in lines[:4])


def test_show_tells_settings_and_cause(store):
    key = task("refuse", 2).key
    shown = runs(store, "show", key[:8]).stdout
    assert "the file is empty" in shown and "inner.rate = 0.5" in shown and key in shown
    assert runs(store, "show", "zzz").returncode == 2


def test_clean_takes_only_what_is_asked_for(store):
    leftover = store.folder(task("double", 1)) / ".result.json.000000-1-1-ab.part"
    leftover.write_text("x")
    os.utime(leftover, (1, 1))
    assert "removed 0 runs (0 B) and 1 leftover of" in runs(store, "clean").stdout
    assert not leftover.exists() and len(stored_runs(store.root)) == 3
    assert "would remove 1 run (" in runs(store, "clean", "--broken", "--dry-run").stdout
    assert len(stored_runs(store.root)) == 3
    assert "removed 1 run (" in runs(store, "clean", "--broken").stdout
    assert {run.state for run in stored_runs(store.root)} == {"done", "stopped"}


def test_clean_by_age_and_by_study(store, tmp_path):
    old = store.folder(task("double", 1))
    for path in (*old.iterdir(), old):
        os.utime(path, (time.time() - 40 * 86_400,) * 2)
    assert "would remove 0 runs" in runs(store, "clean", "--older-than", "8w", "--dry-run").stdout
    assert "removed 1 run (" in runs(store, "clean", "--older-than", "30d").stdout
    (tmp_path / "results" / "tiny").mkdir(parents=True)
    (tmp_path / "results" / "tiny" / "runs.csv").write_text(
        f"score,key\n1,{task('double', 3).key}\n"
    )
    words = ["clean", "--results", str(tmp_path / "results")]
    assert runs(store, *words, "--study", "unknown").returncode == 2
    assert "removed 1 run (" in runs(store, *words, "--study", "tiny").stdout
    assert [run.label for run in stored_runs(store.root)] == ["number 2"]


def test_broken_and_running_ones_are_told_apart(store):
    one, three = task("double", 1), task("double", 3)
    (store.folder(one) / "result.json").write_text("{")
    with store.claim(three):
        states = {run.label: run.state for run in stored_runs(store.root)}
    assert states == {"number 1": "broken", "number 2": "failed", "number 3": "running"}
    assert (store.folder(one) / "result.json").exists()  # looking changes nothing
