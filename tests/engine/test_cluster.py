"""The Ray engine, on a real Ray of this machine: the local engine's results, failures told, files brought home."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from probes import python_path, walks
from rlassay.engine import choice
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SettingsError
from rlassay.formats import save

ray = pytest.importorskip("ray", reason="the dev extra installs it")
HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def importable():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path(HERE))
        yield


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """One cluster for all: it takes seconds to start."""
    root = tmp_path_factory.mktemp("ray")
    store, heard = RunStore(root / "store"), []
    names = ("double", "refuse", "crash", "vanish", "files", "double")
    tasks = [Task("test", f"engine_tasks:{name}", {"number": k}) for k, name in enumerate(names)]
    hidden = Task("test", "engine_tasks:double", {"number": 9}, {"path": str(root / "gone.npz")})
    engine = choice.engine_named("ray", workers=2)
    return store, [*tasks, hidden], engine.run([*tasks, hidden], store, heard.append), heard


def test_results_are_the_local_engines(outcomes, tmp_path):
    _, tasks, found, heard = outcomes
    alone = LocalEngine(1).run([tasks[0], tasks[5]], RunStore(tmp_path))
    assert [found[0].result, found[5].result] == [one.result for one in alone]
    assert len(heard) == len(tasks) and all(not outcome.cached for outcome in found)


def test_failures_name_their_cause_and_a_dead_process_is_retried_in_vain(outcomes):
    store, tasks, found, _ = outcomes
    assert found[1].failure == "the file is empty; name another"
    assert found[2].failure == "ZeroDivisionError: by nothing"
    assert "gave the task up after 3 retries" in found[3].failure
    assert "gone.npz is not there on the node" in found[6].failure
    assert store.failure(tasks[1]) == found[1].failure and store.result(tasks[0]) == found[0].result


def test_files_of_a_task_come_home(outcomes):
    store, tasks, found, _ = outcomes
    assert found[4].result == {"written": 2}
    assert (store.folder(tasks[4]) / "note.txt").read_text() == "from the node"
    assert (store.folder(tasks[4]) / "deep/bytes").read_bytes() == bytes(range(256))


def test_a_second_run_asks_nobody(outcomes):
    store, tasks, found, _ = outcomes
    done = [task for task, outcome in zip(tasks, found, strict=True) if outcome.result is not None]
    again = choice.engine_named("ray", "nowhere:1").run(done, store)
    assert all(outcome.cached for outcome in again) and not ray.is_initialized()


def test_cards_of_a_cluster_are_those_of_this_machine(tmp_path):
    for seed in range(2):
        save(walks(episodes=30, seed=seed, env_id="Hopper-v5"), tmp_path / f"data/{seed}.npz")
    for name in ("local", "ray"):
        words = ["score", str(tmp_path / "data"), "--out", str(tmp_path / name), "--engine", name]
        settings = ["--workers", "2", "--scores", "return,q,bc_error"]
        environment = {**os.environ, "RLASSAY_STORE": str(tmp_path / f"store-{name}")}
        done = subprocess.run(
            [sys.executable, "-m", "rlassay", *words, *settings],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
    for seed in range(2):
        here, there = (
            json.loads((tmp_path / name / f"{seed}.npz.json").read_text())
            for name in ("local", "ray")
        )
        assert {**here, "seconds": 0} == {**there, "seconds": 0}


@pytest.mark.parametrize(
    ("name", "address", "says"),
    [("spark", None, "unknown engine"), ("local", "host:1", "the local engine has no address")],
)
def test_engines_are_named_rightly(name, address, says):
    with pytest.raises(SettingsError, match=says):
        choice.engine_named(name, address)


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path):
    task = Task("test", "engine_tasks:double", {"number": 1})
    with pytest.raises(SettingsError, match="Ray cannot be reached at 127.0.0.1:9"):
        choice.engine_named("ray", "127.0.0.1:9").run([task], RunStore(tmp_path))
