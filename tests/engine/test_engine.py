"""The engine: nothing is done twice, a failure has a cause and stops nobody else, a kill costs one checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probes import python_path
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore, Task

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path(HERE))


def task(function: str, number: int = 1, **more) -> Task:
    return Task("test", f"engine_tasks:{function}", {"number": number}, **more)


def test_results_come_back_in_order_and_a_second_run_does_nothing(tmp_path):
    store, tasks = RunStore(tmp_path), [task("double", n) for n in (3, 1, 3, 2)]
    first = LocalEngine(2).run(tasks, store)
    assert [o.result["value"] for o in first] == [6, 2, 6, 4]
    assert {o.result["threads"] for o in first} == {"1"}
    second = LocalEngine(2).run(tasks, store)
    assert all(o.cached for o in second) and [o.result for o in second] == [o.result for o in first]
    assert [(store.folder(t) / "calls").read_text() for t in tasks] == ["x"] * 4


def test_a_failed_task_names_its_cause_while_the_others_finish(tmp_path):
    store, heard = RunStore(tmp_path), []
    tasks = [task(name) for name in ("refuse", "crash", "vanish", "double")]
    tasks = [Task("test", t.function, {"number": k}) for k, t in enumerate(tasks)]
    outcomes = LocalEngine(2).run(tasks, store, heard.append)
    causes = [o.failure for o in outcomes]
    assert causes[0] == "the file is empty; name another"
    assert causes[1] == "ZeroDivisionError: by nothing"
    assert "code 9" in causes[2] and "log.txt" in causes[2]
    assert causes[3] is None and outcomes[3].result["value"] == 6
    assert {o.task.key for o in heard} == {t.key for t in tasks}
    assert "ZeroDivisionError" in (store.folder(tasks[1]) / "log.txt").read_text()


def test_a_failed_task_is_tried_again(tmp_path):
    store, failing = RunStore(tmp_path), task("crash")
    LocalEngine(1).run([failing], store)
    repaired = Task("test", "engine_tasks:double", failing.settings)
    assert repaired.key == failing.key
    [outcome] = LocalEngine(1).run([repaired], store)
    assert outcome.result["value"] == 2 and store.failure(repaired) is None


def test_the_key_holds_everything_a_result_depends_on():
    base = task("double", data={"path": "a", "fingerprint": "f"})
    assert base.key == task("double", data={"path": "elsewhere", "fingerprint": "f"}, label="x").key
    others = [
        task("double", 2, data={"fingerprint": "f"}),
        task("double", data={"fingerprint": "g"}),
        task("double", data={"fingerprint": "f"}, revision=2),
        Task("other", "engine_tasks:double", {"number": 1}, {"fingerprint": "f"}),
    ]
    assert len({t.key for t in [base, *others]}) == 5
    assert Task.from_json(json.loads(json.dumps(base.to_json()))) == base


def test_workers_sit_on_cores_of_their_own(tmp_path):
    cores = range(os.cpu_count() or 1)
    code = (
        "import os; os.sched_setaffinity(0, range(os.cpu_count()))\n"
        "import sys; from rlassay.engine.store import RunStore, Task; from rlassay.engine.worker import main\n"
        "store = RunStore(sys.argv[1])\n"
        "t = Task('pin', 'engine_tasks:pinned', {'core': int(sys.argv[2])})\n"
        "sys.exit(main([sys.argv[1], str(store.begin(t)), sys.argv[2], '1']))"
    )
    for core in range(len(cores)):
        arguments = [sys.executable, "-c", code, str(tmp_path), str(core)]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, env=os.environ) as process:
            assert process.wait() == 0  # stdin stays open: a worker ends with its parent
    store = RunStore(tmp_path)
    found = [
        store.result(Task("pin", "engine_tasks:pinned", {"core": core}))["cores"]
        for core in range(len(cores))
    ]
    assert found == [[core] for core in cores]


def start_slow_run(store: Path, number: int) -> tuple[subprocess.Popen, Task]:
    """An engine in its own process, counting slowly."""
    asked = Task("test", "engine_tasks:count_slowly", {"number": number, "pause": 0.1})
    code = (
        "import json, sys; from rlassay.engine.local import LocalEngine; from rlassay.engine.store import *\n"
        "LocalEngine(1).run([Task.from_json(json.loads(sys.argv[1]))], RunStore(sys.argv[2]))"
    )
    arguments = [sys.executable, "-c", code, json.dumps(asked.to_json()), str(store)]
    return subprocess.Popen(arguments, env=os.environ), asked


def count_of(folder: Path) -> int:
    text = (folder / "count").read_text() if (folder / "count").exists() else ""
    return int(text or 0)


def wait_until(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_engine_takes_its_workers_along_and_a_new_one_goes_on(tmp_path, how):
    process, asked = start_slow_run(tmp_path, 10_000)
    folder = RunStore(tmp_path).folder(asked)
    wait_until(lambda: count_of(folder) >= 3)
    process.send_signal(how)
    process.wait()
    wait_until(lambda: stands_still(folder))
    assert RunStore(tmp_path).result(asked) is None
    reached = count_of(folder)
    (folder / "count").write_text("9999")  # the last checkpoint, one before the end
    [outcome] = LocalEngine(1).run([asked], RunStore(tmp_path))
    assert reached >= 3 and outcome.result == {"count": 10_000, "starts": 2}


def stands_still(folder: Path) -> bool:
    before = count_of(folder)
    time.sleep(0.5)
    return count_of(folder) == before


def test_results_are_whole_or_absent(tmp_path):
    store, one = RunStore(tmp_path), task("double")
    store.begin(one)
    with pytest.raises(ValueError):
        store.finish(one, {"value": float("nan")})
    assert store.result(one) is None
    assert [p.name for p in store.folder(one).iterdir()] == ["task.json"]
