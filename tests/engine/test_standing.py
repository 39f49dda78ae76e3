"""Workers that stay: the same results as one process a task, start paid once, a death costs one task."""

import os
from pathlib import Path

import pytest

from probes import python_path
from rlassay.engine.local import LocalEngine
from rlassay.engine.standing import StandingEngine
from rlassay.engine.store import RunStore, Task

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path(HERE))


def task(function: str, number: int) -> Task:
    return Task("test", f"engine_tasks:{function}", {"number": number})


def test_one_process_does_many_tasks(tmp_path):
    tasks = [task("process", number) for number in range(4)]
    outcomes = StandingEngine(1).run(tasks, RunStore(tmp_path / "standing"))
    assert len({outcome.result["pid"] for outcome in outcomes}) == 1
    alone = LocalEngine(1).run(tasks[:2], RunStore(tmp_path / "alone"))
    assert len({outcome.result["pid"] for outcome in alone}) == 2
    with pytest.raises(ProcessLookupError):  # it ended with the run
        os.kill(outcomes[0].result["pid"], 0)


def test_a_death_costs_one_task_and_a_failure_costs_no_process(tmp_path):
    store, heard = RunStore(tmp_path), []
    names = ("process", "refuse", "crash", "process", "vanish", "process", "double")
    tasks = [task(name, number) for number, name in enumerate(names)]
    outcomes = StandingEngine(1).run(tasks, store, heard.append)
    causes = [outcome.failure for outcome in outcomes]
    assert causes[1] == "the file is empty; name another"
    assert causes[2] == "ZeroDivisionError: by nothing"
    assert "ZeroDivisionError" in (store.folder(tasks[2]) / "log.txt").read_text()
    assert "code 9" in causes[4]
    assert [cause is None for cause in causes] == [True, False, False, True, False, True, True]
    before, after, behind = (outcomes[k].result["pid"] for k in (0, 3, 5))
    assert before == after != behind
    assert outcomes[6].result == {"value": 12, "threads": "1"} and len(heard) == 7


def test_what_a_task_prints_goes_into_its_own_log(tmp_path):
    store, tasks = RunStore(tmp_path), [task("talk", 1), task("talk", 2)]
    StandingEngine(1).run(tasks, store)
    logs = [(store.folder(one) / "log.txt").read_text() for one in tasks]
    assert ["number 1" in logs[0], "number 2" in logs[0], "number 2" in logs[1]] == [
        True,
        False,
        True,
    ]
