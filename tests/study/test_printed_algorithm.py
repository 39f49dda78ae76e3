"""Algorithm 1 as printed: keys with every setting, a row a score, the literal dual beside the mended one."""

from dataclasses import replace
from pathlib import Path

import pytest

from probes import walks
from rlassay.formats import load, save
from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.scoring import settings as score_settings
from rlassay.settings import flatten
from rlassay.study import paper
from rlassay.study.grid.cells import export_cells, read_runs
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import read_table, write_table


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "walks.npz"
    save(walks(episodes=20, length=30, dims=(3, 1), bounds=2.0, env_id="Pendulum-v1"), path)
    return StudyData("Pendulum-v1", "walks", path, load(path).fingerprint, "made-of-this")


def test_the_key_holds_every_setting_of_the_preset(data, monkeypatch):
    cells = paper.paper_cells([data], seeds=2)
    assert len({cell.task.key for cell in cells}) == len(cells) == 2
    asked = cells[0].task.settings
    assert asked["settings"] == flatten(score_settings.PRESETS["paper"])
    assert asked["settings"]["critic.method"] == "sarsa" and asked["revisions"]["bwd.dual"] >= 1
    preset = score_settings.PRESETS["paper"]
    other = replace(preset, critic=replace(preset.critic, steps=9))
    monkeypatch.setitem(score_settings.PRESETS, "paper", other)
    assert paper.paper_cells([data])[0].task.key != cells[0].task.key


def test_a_task_scores_and_its_rows_are_exported(data, tmp_path, monkeypatch):
    fast = score_settings.PRESETS["fast"]
    quick = replace(
        score_settings.PRESETS["paper"],
        critic=replace(score_settings.PRESETS["paper"].critic, steps=50),
        transport=replace(score_settings.PRESETS["paper"].transport, steps=50, states=200),
        evaluation=fast.evaluation,
    )
    monkeypatch.setitem(score_settings.PRESETS, "paper", quick)
    (cell,) = paper.paper_cells([data], seeds=1)
    result = paper.score_task(cell.task.settings, cell.task.data, Path(tmp_path))
    rows = {row["score_name"]: row for row in paper.paper_rows(cell, result)}
    assert set(rows) == {*paper.SCORES, paper.LITERAL}
    epsilon = quick.transport.epsilon
    assert rows["bwd.dual"]["value"] - rows[paper.LITERAL]["value"] == pytest.approx(epsilon)
    table = tmp_path / "paper_scores.csv"

    class Kept:
        def result(self, task):
            return result

    export_cells(table, [cell], paper.COLUMNS, paper.paper_rows, {}, Kept())  # type: ignore[arg-type]
    assert {row["preset"] for row in read_table(table)} == {"paper"}
    assert {row["key"] for row in read_table(table)} == {cell.task.key}


def scored(dataset, seed, dual, exact):
    values = {"q": exact, "advantage": 0.0, "pd": 0.0, "bwd.dual": dual, "bwd.exact": exact}
    return [
        {
            "environment": "Hopper-v5",
            "dataset": dataset,
            "seed": seed,
            "preset": "paper",
            "score_name": name,
            "value": value,
            "converged": 1.0,
        }
        for name, value in values.items()
    ]


def test_a_dual_is_far_off_when_it_left_the_scale_of_the_exact_value():
    near, lost = scored("a", 0, 190.0, 100.0), scored("a", 1, -1e9, 100.0)
    beyond, negative = scored("b", 0, 201.0, 100.0), scored("b", 1, -19.0, -10.0)
    assert paper.far_off(near + lost + beyond + negative) == 2
    without = scored("c", 0, None, 100.0)
    assert paper.far_off(near + without) == 0


def test_within_an_environment_the_printed_scores_are_judged_by_the_long_oracle(tmp_path):
    reached = {"a": 10.0, "b": 20.0, "c": 40.0}
    rows = [
        row
        for dataset, value in reached.items()
        for seed in (0, 1)
        for row in scored(dataset, seed, -(value**2), value + seed)
    ]
    write_table(tmp_path / paper.PAPER_SCORES, rows, paper.COLUMNS, {})
    table = paper.render(tmp_path)
    assert "far off" not in table  # nothing to judge by

    runs = [
        {
            "environment": "Hopper-v5",
            "dataset": dataset,
            "agent": agent,
            "seed": 0,
            "score": value,
            "revision": 1,
        }
        for dataset, value in reached.items()
        for agent in LONG_AGENTS
    ]
    write_table(tmp_path / "long" / "runs.csv", runs, list(runs[0]), {"revisions": [1]})
    (row,) = paper.environment_rows(rows, runs)
    assert (row["scorings"], row["datasets"], row["dual far off"]) == (6, 3, 6)
    assert row["bwd.exact, pearson"] == pytest.approx(1.0)
    assert row["bwd.dual, spearman"] == pytest.approx(-1.0)
    assert -1.0 < row["bwd.dual, pearson"] < -0.9
    assert "dual far off" in paper.render(tmp_path)


def test_the_committed_table_is_of_the_committed_runs():
    """It is rendered by another study than the one that brings the runs."""
    results = Path(__file__).parents[2] / "results"
    scores, runs = read_table(results / paper.PAPER_SCORES), read_runs("long", results)
    committed = read_table(results / "long" / "paper_environments.csv")
    for row, again in zip(committed, paper.environment_rows(scores, runs), strict=True):
        assert row.pop("environment") == again.pop("environment")
        assert row == pytest.approx(again, rel=1e-6)
