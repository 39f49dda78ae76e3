"""Studies from end to end on a tiny grid: run, stop, resume, render; empty cells stay visible."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlassay.collect.runs import run_actors, train_run
from rlassay.collect.settings import TD3Settings
from rlassay.collect.zoo import add_to_zoo
from rlassay.engine.store import RunStore
from rlassay.errors import DatasetError, SettingsError
from rlassay.study import confirm, cql, d4rl, fig1, study, table1, table2
from rlassay.study.analysis.correlate import POOLED, min_max
from rlassay.study.analysis.questions import Grid, dataset_weights
from rlassay.study.d4rl import find_files
from rlassay.study.fig2 import PATTERN_PANEL
from rlassay.study.grid import plan
from rlassay.study.grid.cells import Cell, export_cells, refuse_mixed, run_cells
from rlassay.study.grid.data import study_data
from rlassay.study.grid.files import read_about, read_table, write_table
from rlassay.study.grid.training import COLUMNS, training_cells, training_rows
from rlassay.study.printed import TABLE_1, printed
from rlassay.study.scoring import COLUMNS as SCORE_COLUMNS
from rlassay.study.scoring import score_cells, score_rows

ENVIRONMENT = "Pendulum-v1"
TINY = plan.Profile("lite", transitions=1_200, score_seeds=1, oracle_seeds=1)
QUICK = {"updates": 40, "width": 8, "batch_size": 16, "eval_every": 20, "eval_episodes": 1}
LEVELS = (0, 400, 800)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Two seeds of a barely trained TD3 on Pendulum, as a zoo."""
    folder = tmp_path_factory.mktemp("zoo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLASSAY_STORE", str(tmp_path_factory.mktemp("store")))
        patch.setattr(plan, "PAPER_LEVELS", LEVELS)
        settings = TD3Settings(
            steps=800, random_steps=100, batch_size=8, hidden=8, eval_every=400, eval_episodes=1
        )
        for seed in (0, 1):
            train_run(ENVIRONMENT, seed, settings)
        actors = run_actors(ENVIRONMENT, [0, 1], settings)
        add_to_zoo(folder, actors, levels=LEVELS, settings={}, replay_seed=0)
        yield folder


@pytest.fixture(scope="module")
def data(zoo):
    return study_data(ENVIRONMENT, ("level-random", "level-0k", "expert"), TINY, zoo)


def test_datasets_are_made_once(data, zoo):
    before = {name: each.path.stat().st_mtime_ns for name, each in data.items()}
    again = study_data(ENVIRONMENT, data, TINY, zoo)
    assert again == data
    assert {name: each.path.stat().st_mtime_ns for name, each in again.items()} == before
    other = study_data(ENVIRONMENT, ["expert"], replace(TINY, transitions=900), zoo)
    assert other["expert"].path != data["expert"].path


def test_cells_run_resume_and_stay_visible(data, tmp_path):
    cells = training_cells(data.values(), ["bc", "iql"], [0], "lite", QUICK)
    path = tmp_path / "runs.csv"
    run_cells(cells[:2], report=lambda line: None)
    rows = export_cells(path, cells, COLUMNS, training_rows, {})
    assert len(rows) == len(cells) == 6
    assert [row.get("score", row.get("return")) is not None for row in rows].count(True) <= 2
    assert sum(row["return"] is not None for row in read_table(path)) == 2
    about = read_about(path)
    assert about["complete"] is False
    assert len(about["missing"]) == 4
    lines, complete = [], []

    def export():
        export_cells(path, cells, COLUMNS, training_rows, {})
        complete.append(len(cells) - len(read_about(path)["missing"]))

    run_cells(cells, table=path, export=export, report=lines.append)
    assert len(lines) == 4  # the two finished ones are not run again
    assert len(complete) == 5  # the table grows with every cell
    assert complete == sorted(complete)
    assert complete[-1] == 6
    assert read_about(path)["complete"] is True


def test_committed_rows_stand_in_for_an_empty_store(data, tmp_path):
    cells = score_cells(ENVIRONMENT, list(data.values()), 1, ["reward", "return"])
    path = tmp_path / "scores.csv"
    run_cells(cells, report=lambda line: None)
    first = export_cells(path, cells, SCORE_COLUMNS, score_rows, {})
    again = export_cells(path, cells, SCORE_COLUMNS, score_rows, {}, RunStore(tmp_path / "empty"))
    assert [row["value"] for row in again] == pytest.approx([row["value"] for row in first])
    assert read_about(path)["complete"] is True
    lines: list[str] = []
    run_cells(cells, table=path, store=RunStore(tmp_path / "empty"), report=lines.append)
    assert lines == []  # what is committed is not computed again on a machine without the store
    changed = [Cell(replace(cell.task, revision=99), cell.columns) for cell in cells]
    export_cells(path, changed, SCORE_COLUMNS, score_rows, {}, RunStore(tmp_path / "empty"))
    assert read_about(path)["complete"] is False  # another revision: the old rows do not count


def test_a_table_older_than_keys_holds_no_cell(data, tmp_path):
    cells = score_cells(ENVIRONMENT, list(data.values()), 1, ["reward"])
    path = tmp_path / "scores.csv"
    write_table(path, [{"environment": ENVIRONMENT, "value": 1.0}], ["environment", "value"], {})
    rows = export_cells(path, cells, SCORE_COLUMNS, score_rows, {}, RunStore(tmp_path / "empty"))
    assert [row.get("value") for row in rows] == [None]


def test_mixed_revisions_are_refused(tmp_path):
    path = tmp_path / "runs.csv"
    write_table(
        path,
        [{"score": 1.0, "revision": 1}, {"score": 1.0, "revision": 2}],
        ["score", "revision"],
        {"revisions": [2]},
    )
    with pytest.raises(SettingsError, match=r"rlassay study table1 --run"):
        refuse_mixed(path, "rlassay study table1 --run")


def example_results(folder: Path) -> None:
    """Raw results of a complete oracle on four datasets of two environments."""
    runs, scores = [], []
    for environment in ("Hopper-v5", "Walker2d-v5"):
        for index, dataset in enumerate(("random", "medium", "medium-expert", "expert")):
            for agent in plan.AGENTS:
                runs.append(
                    {
                        "environment": environment,
                        "dataset": dataset,
                        "agent": agent,
                        "seed": 0,
                        "updates": 10,
                        "score": 25.0 * index,
                        "revision": 1,
                        "key": "k",
                    }
                )
            for name, value in (
                ("return", 900.0 * index),
                ("q", 90.0 - index),
                ("bwd.exact", index**2),
                ("bwd.tail", float(index)),
            ):
                for seed in range(2):
                    scores.append(
                        {
                            "environment": environment,
                            "dataset": dataset,
                            "score_name": name,
                            "seed": seed,
                            "discount": 0.99,
                            "value": value + 0.1 * seed,
                            "key": "k",
                        }
                    )
    write_table(
        folder / "table1" / "runs.csv",
        runs,
        [*COLUMNS, "key"],
        {"complete": True, "revisions": [1]},
    )
    write_table(
        folder / "table1" / "scores.csv", scores, [*SCORE_COLUMNS, "key"], {"complete": True}
    )


def test_table1_and_fig2_render_from_raw_results(tmp_path):
    example_results(tmp_path)
    text, missing = study("table1", results=tmp_path)
    assert missing == []
    assert "| Hopper-v5 | medium-expert | 50.0 | 7/7 |" in text
    assert "510.431" in text or "510.4" in text  # the paper's Walker2d medium-expert beside ours
    text, _ = study("fig2", results=tmp_path)
    assert "all (n = 8)" in text and "| bwd.tail | 1.00" in text
    svg = (tmp_path / "fig2" / "figure.svg").read_text()
    assert "Pearson with the oracle" in svg
    rows = read_table(tmp_path / "fig2" / "correlations.csv")
    tail = [
        r
        for r in rows
        if r["score_name"] == "bwd.tail" and r["kind"] == "pearson" and r["panel"] == "all"
    ]
    assert all(row["value"] > 0.999 for row in tail)
    panels = {row["panel"] for row in rows}
    # no levels, one mixture: no such panel; here no agent beats cloning on medium-expert
    assert panels == {"splits", "all", PATTERN_PANEL}
    assert "*noise ceiling* | 1.00" in text  # all agents agree here


def test_missing_agent_leaves_the_oracle_empty(tmp_path):
    example_results(tmp_path)
    path = tmp_path / "table1" / "runs.csv"
    runs = [r for r in read_table(path) if not (r["agent"] == "cql" and r["dataset"] == "expert")]
    rows = table1.table_rows(read_table(tmp_path / "table1" / "scores.csv"), runs)
    expert = next(row for row in rows if row["dataset"] == "expert")
    assert expert["oracle"] is None
    assert expert["agents"] == "6/7"


def test_fig2_without_a_complete_oracle_is_one_sentence(tmp_path):
    example_results(tmp_path)
    path = tmp_path / "table1" / "runs.csv"
    runs = [r for r in read_table(path) if r["agent"] != "cql"]
    write_table(path, runs, list(runs[0]), {})
    with pytest.raises(DatasetError, match="no dataset has a complete oracle"):
        study("fig2", results=tmp_path)


def test_fig1_table_names_the_best_weight(tmp_path):
    rows = [
        {"environment": "E", "dataset": "d", "variant": name, "score": score}
        for name, score in (("0", 10.0), (2.5, 30.0), (float("inf"), 5.0), ("40", None))
    ]
    found = fig1.table_rows(rows)[0]
    assert found["best_weight"] == "2.5"
    assert (found["0"], found["inf"]) == (10.0, 5.0)
    assert "40" not in found
    assert len(fig1.WEIGHTS) == 12


def test_table2_pairs_by_seed():
    rows = [
        {"environment": "E", "dataset": "d", "variant": variant, "seed": seed, "score": score}
        for variant, scores in (("iql", (10.0, 20.0, 30.0)), ("bwd", (11.0, 22.0, 33.0)))
        for seed, score in enumerate(scores)
    ]
    plain, bwd = table2.summarise(rows)
    assert plain["difference"] is None
    assert bwd["difference"] == pytest.approx(2.0)
    assert bwd["low"] == pytest.approx(2.0 - 4.302653 * 1.0 / 3**0.5, abs=1e-4)
    single = table2.summarise(rows[:1] + rows[3:4])[1]
    assert (single["difference"], single["low"]) == (1.0, None)


def test_table2_draws_scores_and_paired_gains(tmp_path):
    rows = [
        {
            "environment": "Hopper-v5",
            "dataset": dataset,
            "agent": "iql",
            "variant": variant,
            "seed": seed,
            "updates": 10,
            "score": 10.0 * seed + gain,
            "revision": 1,
            "key": "k",
        }
        for dataset in table2.LEVELS[:2]
        for variant, gain in (("iql", 0.0), ("bwd", 2.0))
        for seed in range(3)
    ]
    about = {"complete": False, "revisions": [1]}
    write_table(tmp_path / "table2" / "runs.csv", rows, list(rows[0]), about)
    text, _ = study("table2", results=tmp_path)
    assert "| Hopper-v5 | level-50k | bwd | 3 | 12.0 | 2.000 |" in text
    svg = (tmp_path / "table2" / "figure.svg").read_text()
    assert "gain over iql" in svg and "normalised return" in svg
    study("table2", results=tmp_path)
    assert (tmp_path / "table2" / "figure.svg").read_text() == svg  # no diff where nothing changed


def test_cql_passes_where_it_reaches_half_of_bc_in_every_environment(tmp_path):
    """Of two variants one passes everywhere, the other fails in one environment by a hair."""
    clones = [
        {"environment": env, "dataset": "expert", "agent": "bc", "score": 100.0}
        for env in cql.ENVIRONMENTS
    ]
    write_table(tmp_path / "table1" / "runs.csv", clones, list(clones[0]), {})
    good, weak = list(cql.VARIANTS)[:2]
    rows = [
        {
            "environment": env,
            "variant": name,
            "score": 49.9 if (name, env) == (weak, "Walker2d-v5") else 50.0,
        }
        for env in cql.ENVIRONMENTS
        for name in (good, weak)
    ]
    write_table(tmp_path / "cql" / "runs.csv", rows, list(rows[0]), {"complete": True})
    text, _ = study("cql", results=tmp_path)
    assert text.startswith(f"Reach half of BC on `expert` in every environment: {good}.")
    write_table(tmp_path / "cql" / "runs.csv", rows[:2], list(rows[0]), {"complete": True})
    assert study("cql", results=tmp_path)[0].startswith("No variant of CQL")


def test_confirm_judges_by_paired_intervals(tmp_path):
    """`return_by_step` is the oracle; `q` follows it, `return` runs against it."""
    runs, scores = [], []
    for environment in ("Hopper-v5", "Walker2d-v5"):
        for index, dataset in enumerate(plan.FRESH_MIXTURES):
            for agent in plan.AGENTS:
                runs.append(
                    {
                        "environment": environment,
                        "dataset": dataset,
                        "agent": agent,
                        "seed": 0,
                        "updates": 10,
                        "score": 25.0 * index,
                        "revision": 1,
                        "key": "k",
                    }
                )
            for name, value in (
                ("return", -1.0 * index),
                ("return_by_step", index),
                ("q", index),
                ("bwd.exact", index % 2),
            ):
                scores.append(
                    {
                        "environment": environment,
                        "dataset": dataset,
                        "score_name": name,
                        "seed": 0,
                        "discount": 0.99,
                        "value": float(value),
                        "key": "k",
                    }
                )
    about = {"complete": True, "revisions": [1]}
    write_table(tmp_path / "confirm" / "runs.csv", runs, [*COLUMNS, "key"], about)
    write_table(tmp_path / "confirm" / "scores.csv", scores, [*SCORE_COLUMNS, "key"], about)
    text, missing = study("confirm", results=tmp_path)
    assert missing == []
    assert "`return_by_step` better than `return`: yes" in text
    assert "`q` better than `return_by_step`: not shown" in text
    assert "| return_by_step | 1.00" in text
    assert "fresh mixtures" in (tmp_path / "confirm" / "figure.svg").read_text()
    assert "together" not in text
    example_results(tmp_path)  # with one mixture an environment
    text, _ = study("confirm", results=tmp_path)
    fresh, together = text.split("### First and fresh mixtures together")
    assert "(n = 8)" in fresh and "(n = 10)" in together
    assert "bwd.tail" not in together  # its epsilon belongs to the datasets it was scored with


def test_confirm_never_says_refuted(tmp_path):
    """An interval below zero of scores that were scaled once is not shown, and the other scalings stand beside it."""
    rows = [
        {
            "panel": "fresh",
            "scope": POOLED,
            "kind": "pearson",
            "score_name": name,
            "n": 12,
            "value": 0.5,
            "minus_return_value": -0.2,
            "minus_return_low": -0.3,
            "minus_return_high": -0.1,
        }
        for name in ("return_by_step",)
    ]
    assert confirm.verdicts(rows) == [
        "`return_by_step` better than `return`: not shown (-0.20 [-0.30, -0.10])."
    ]


def test_other_scalings_are_repeated_inside_every_resample():
    """On D4RL's scale `q` is the oracle and `return` half of it plus an outlier's worth; three datasets an environment."""
    environments = np.repeat(["A", "B"], 3)
    truth = np.array([0.0, 50.0, 100.0, 10.0, 20.0, 30.0])
    scores = {"q": truth, "return": np.array([0.0, 100.0, 60.0, 10.0, 30.0, 20.0])}
    grid = Grid(environments, np.array(["x", "y", "z"] * 2), scores, {"bc": truth, "iql": truth})
    rows = {row["scaling"]: row for row in confirm.scaling_rows(grid, "test")}
    for scaling, x in (
        ("D4RL's scale", scores["return"]),
        ("min-max within resamples", min_max(scores["return"], environments)),
    ):
        y = truth if scaling == "D4RL's scale" else min_max(truth, environments)
        assert rows[scaling]["difference_value"] == pytest.approx(1 - np.corrcoef(x, y)[0, 1])
    assert {row["n"] for row in rows.values()} == {6}
    weights = dataset_weights(environments)
    assert (weights[:, :3].sum(axis=1) == 3).all() and weights.shape == (2_000, 6)


def test_printed_rows_are_the_papers():
    assert len(TABLE_1) == 15
    assert printed("Walker2d-v5", "medium-expert")["paper_bwd"] == 510.431
    assert printed("Walker2d-v5", "level-50k") == {}


@pytest.mark.parametrize(
    "name", ["table1", "fig2", "fig1", "table2", "runtime", "confirm", "long", "paper", "curation"]
)
def test_without_a_zoo_nothing_is_run_and_nothing_written(name, tmp_path):
    with pytest.raises(DatasetError, match="--zoo DIR"):
        study(name, run=True, results=tmp_path / "results", zoo=tmp_path / "nowhere")
    assert not (tmp_path / "results").exists()


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="table1"):
        study("table9", results=tmp_path)
    with pytest.raises(SettingsError, match="lite"):
        study("table1", profile="huge", results=tmp_path)
    with pytest.raises(DatasetError, match="--run"):
        study("table1", results=tmp_path)
    with pytest.raises(DatasetError, match="no D4RL file"):
        find_files(tmp_path)


def test_json_of_a_table_names_command_and_software(tmp_path):
    write_table(
        tmp_path / "t.csv", [{"a": 1.5, "b": None}], ["a", "b"], {"command": "rlassay study x"}
    )
    about = json.loads((tmp_path / "t.json").read_text())
    assert about["command"] == "rlassay study x"
    assert about["software"]["numpy"]
    assert read_table(tmp_path / "t.csv") == [{"a": 1.5, "b": None}]


def test_directions_of_scores_are_those_of_their_definitions(tmp_path, monkeypatch):
    """On D4RL files less cloning error with a better oracle is agreement: Pearson 1, as for the return."""
    rows = [
        {
            "environment": environment,
            "dataset": dataset,
            "score_name": name,
            "seed": seed,
            "value": value,
            "oracle": 10.0 * k,
        }
        for environment in ("hopper", "walker2d")
        for k, dataset in enumerate(("random", "medium", "expert"))
        for name, value in (("return", float(k)), ("bc_error", -float(k)))
        for seed in range(2)
    ]
    monkeypatch.setattr(d4rl, "find_files", lambda folder: [(tmp_path, "all")])
    monkeypatch.setattr(d4rl, "score_rows", lambda path, dataset, report: rows)
    d4rl.d4rl_table("table1", tmp_path, tmp_path, lambda line: None)
    found = read_table(tmp_path / "d4rl" / "correlations.csv")
    assert {row["score_name"] for row in found} == {"return", "bc_error"}
    assert all(row["value"] == pytest.approx(1) for row in found if row["kind"] == "pearson")
