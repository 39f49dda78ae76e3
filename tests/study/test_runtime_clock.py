"""Timing updates inside one run: compilation, evaluations and checkpoints do not count; a second start goes on."""

import sys

import pytest

from probes import walks
from rlassay.errors import SolverError
from rlassay.formats import save
from rlassay.runtime import WORTH_KEEPING
from rlassay.study import runtime, timing
from rlassay.study.grid.files import read_about, read_table, write_table


def test_compilation_and_evaluations_are_not_counted():
    clock = timing.UpdateClock()
    clock.start(now=100.0)
    clock.look(200, now=130.0)  # thirty seconds of compiling
    clock.look(200, now=135.0)  # an evaluation
    clock.look(400, now=135.4)
    clock.look(400, now=150.0)
    clock.look(600, now=150.6)
    assert clock.stretches == [(200, 30.0), (200, pytest.approx(0.4)), (200, pytest.approx(0.6))]
    assert clock.seconds_per_update() == pytest.approx((0.4 + 0.4 + 0.6) / 600)


def test_a_run_without_a_second_stretch_is_no_measurement():
    clock = timing.UpdateClock()
    clock.start(now=0.0)
    clock.look(200, now=1.0)
    with pytest.raises(SolverError, match="too short"):
        clock.seconds_per_update()


def test_an_update_is_timed_in_a_real_run(tmp_path):
    path = tmp_path / "walks.npz"
    save(walks(episodes=6, length=30, dims=(3, 1), bounds=2.0, env_id="Pendulum-v1"), path)
    assert 0 < timing.update_seconds("bc", "Pendulum-v1", path, period=3) < 1


def test_a_timed_scoring_keeps_what_a_users_run_would_keep(tmp_path, monkeypatch):
    """JAX's own threshold of a second leaves out most programs of ours."""
    kept = "import jax; c = jax.config; print(c.jax_persistent_cache_min_compile_time_secs)"
    monkeypatch.setattr(timing, "PROGRAM", (sys.executable, "-c", kept))
    assert timing._call_of_score(tmp_path, None, str(tmp_path)) == WORTH_KEEPING


@pytest.fixture
def measured(monkeypatch):
    """Measurements that say how often they were made: scoring takes 10 s, an update 2 ms."""
    made = []

    def fake(environment, path):
        def one(what, row):
            made.append((environment, what))
            return row

        return {
            runtime.FIRST: lambda: one(runtime.FIRST, {"seconds": 10.0}),
            "training bc": lambda: one("training bc", {"milliseconds_per_update": 2.0}),
        }

    monkeypatch.setattr(runtime, "measurements", fake)
    return made


def test_times_of_every_environment_grow_and_are_not_measured_twice(tmp_path, measured):
    table, said = tmp_path / "times.csv", []
    paths = {"Hopper-v5": tmp_path, "Walker2d-v5": tmp_path}
    runtime.run_times(table, {"Hopper-v5": tmp_path}, {"command": "c"}, said.append)
    assert len(measured) == 2 and said[0].startswith("1 of 2")
    runtime.run_times(table, paths, {"command": "c"}, said.append)
    assert measured[2:] == [("Walker2d-v5", runtime.FIRST), ("Walker2d-v5", "training bc")]
    rows = read_table(table)
    assert [row["environment"] for row in rows] == ["Hopper-v5"] * 2 + ["Walker2d-v5"] * 2
    assert rows[1]["seconds_for_full_budget"] == pytest.approx(2_000)
    assert rows[1]["times_scoring"] == pytest.approx(200)
    assert read_about(table)["complete"] is True and read_about(table)["missing"] == []
    write_table(table, rows[1:], list(rows[0]), {})
    runtime.run_times(table, paths, {"command": "c"}, said.append)
    assert measured[4:] == [("Hopper-v5", runtime.FIRST)]
    assert [row["what"] for row in read_table(table)] == [row["what"] for row in rows]


def test_times_of_the_old_measurement_are_made_again(tmp_path, measured):
    """The first one took the difference of two runs, in which compile time does not cancel."""
    table = tmp_path / "times.csv"
    old = [
        {"what": "training bc, 1,000,000 updates (extrapolated)", "milliseconds_per_update": 0.265}
    ]
    write_table(table, old, list(old[0]), {"complete": True})
    runtime.run_times(table, {"Hopper-v5": tmp_path}, {}, lambda line: None)
    assert {row["what"] for row in read_table(table)} == {runtime.FIRST, "training bc"}


def test_every_agent_and_environment_is_asked_for(tmp_path):
    assert set(runtime.measurements("Hopper-v5", tmp_path)) == {
        *runtime.SCORINGS,
        *(f"training {agent}" for agent in runtime.AGENTS),
    }


def test_all_scores_are_asked_for_by_name_and_the_second_call_finds_what_was_compiled(
    tmp_path, monkeypatch
):
    """Without names `score` computes seven scores, not all of them."""
    asked = {}
    monkeypatch.setattr(
        runtime,
        "scoring_seconds",
        lambda path, names, again: asked.setdefault((names, again), 1.0),
    )
    made = runtime.measurements("Hopper-v5", tmp_path)
    for what in (runtime.FIRST, runtime.SECOND):
        assert made[what]() == {"seconds": 1.0}
    assert set(asked) == {("all", False), ("all", True)}


def test_a_call_of_score_is_timed_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "walks.npz"
    save(walks(episodes=12, length=100, dims=(3, 1), bounds=2.0, env_id="Pendulum-v1"), path)
    assert timing.scoring_seconds(path, ["return"], again=True) > 0
