"""The curation study: arms hold what they say, runs are told apart, the summary adds up, AUC is right."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlassay.data.dataset import Dataset, Origin
from rlassay.engine.local import Outcome
from rlassay.engine.store import RunStore
from rlassay.formats import load, save
from rlassay.oracle import settings_of
from rlassay.settings import identifying
from rlassay.study import curation, study
from rlassay.study.curation import arms, detection, learning
from rlassay.study.curation.mixtures import MIXTURES, _joined, _misrecorded
from rlassay.study.grid.files import read_table

RESULTS = Path(__file__).parents[2] / "results"


class HereEngine:
    """Runs tasks in this process."""

    def __init__(self):
        self.done = 0

    def run(self, tasks, store, on_outcome=lambda outcome: None):
        from rlassay.engine.worker import resolve

        for task in {task.key: task for task in tasks}.values():
            if store.result(task) is None:
                self.done += 1
                folder = store.begin(task)
                store.finish(task, resolve(task.function)(task.settings, task.data, folder))
        return [Outcome(task, store.result(task)) for task in tasks]


def pendulum_like(lengths=(60, 40, 80, 20, 50, 30)) -> Dataset:
    """Shapes of Pendulum-v1; episode k has mean reward k, so later episodes are better by every score of values."""
    rng = np.random.default_rng(0)
    rows = sum(lengths)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    return Dataset.from_columns(
        observations=(rng.normal(size=(rows, 3)) + episode[:, None]).astype(np.float32),
        actions=rng.uniform(-2, 2, (rows, 1)).astype(np.float32),
        rewards=episode + 0.01 * rng.normal(size=rows),
        terminals=np.zeros(rows, bool),
        episode_starts=np.cumsum([0, *lengths[:-1]]),
        origin=Origin(
            env_id="Pendulum-v1", action_low=np.array([-2.0]), action_high=np.array([2.0])
        ),
    )


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "mixture.npz"
    save(pendulum_like(), path)
    return arms.Grid(
        "Pendulum-v1",
        "made",
        str(path),
        load(path).fingerprint,
        ("full", "random", "return", "bwd", "weights-return", "weights-advantage"),
        ("bc",),
        1,
        "fast",
    )


def test_a_study_runs_once_and_tells_every_arm(grid, tmp_path):
    from rlassay.agents.training import make_settings

    settings = {
        "bc": make_settings(
            "bc", {"updates": "20", "eval_every": "20", "eval_episodes": "1", "width": "8"}
        )
    }
    engine, store, table = HereEngine(), RunStore(tmp_path / "store"), tmp_path / "runs.csv"

    def run(store):
        failures = learning.run_grids(
            [grid], settings, tmp_path, {}, engine=engine, store=store, report=print
        )
        assert failures == []
        return read_table(table)

    rows = run(store)
    assert [row["arm"] for row in rows] == list(grid.arms)
    by_arm = {row["arm"]: row for row in rows}
    total = len(pendulum_like())
    assert by_arm["full"]["transitions"] == by_arm["weights-return"]["transitions"] == total
    for arm in ("random", "return", "bwd"):
        assert total / 2 <= by_arm[arm]["transitions"] < total
    assert by_arm["return"]["data_return"] > by_arm["full"]["data_return"]
    assert all(row["updates"] == 20 and np.isfinite(row["return"]) for row in rows)
    assert [row["arm"] for row in read_table(tmp_path / "summary.csv")] == list(grid.arms)
    fewer = replace(grid, arms=("full",))
    learning.run_grids([fewer], settings, tmp_path, {}, engine=engine, store=store, report=print)
    assert {row["arm"] for row in read_table(table)} == set(grid.arms)  # the other arms stay
    done = engine.done
    assert run(store) == rows and engine.done == done
    assert (
        run(RunStore(tmp_path / "other")) == rows and engine.done == done + grid.seeds
    )  # the arms


def test_weights_of_the_arms_differ_and_belong_to_the_mixture(grid, tmp_path):
    settings = {
        "arms": ["weights-return", "weights-advantage"],
        "seed": 0,
        "preset": "fast",
        "share": 0.5,
    }
    prepared = arms.prepare_task(settings, {"path": grid.path}, tmp_path)
    assert (
        prepared["weights-return"]["weights_sha256"]
        != prepared["weights-advantage"]["weights_sha256"]
    )
    with np.load(prepared["weights-advantage"]["weights"]) as file:
        assert str(file["fingerprint"]) == grid.fingerprint


def test_a_random_half_holds_half_of_the_rows():
    data = pendulum_like()
    halves = [arms.random_half(data, seed) for seed in range(4)]
    for half in halves:
        rows = data.episode_lengths[half]
        assert rows.sum() >= len(data) / 2 > rows.sum() - data.episode_lengths.max()
    assert len({tuple(half) for half in halves}) > 1


def row(arm, seed, score):
    return {
        "environment": "E",
        "dataset": "d",
        "agent": "bc",
        "arm": arm,
        "seed": seed,
        "score": score,
        "return": 0,
    }


def test_the_summary_pairs_seeds():
    rows = [row("full", 0, 10), row("full", 1, 20), row("return", 0, 15), row("return", 1, 25)]
    full, filtered = learning.summarise(rows)
    assert (full["arm"], full["score"], full["runs"]) == ("full", 15, 2)
    assert "against_full" not in full
    assert filtered["against_full"] == filtered["low_full"] == filtered["high_full"] == 5
    assert filtered["low"] < 20 < filtered["high"]


def test_the_area_is_the_probability_of_the_right_order():
    rng = np.random.default_rng(0)
    good, bad = rng.integers(0, 6, 30).astype(float), rng.integers(0, 5, 40).astype(float)
    wins = (good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()
    assert np.isclose(detection.area_under_curve(good, bad), wins)
    assert detection.area_under_curve(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1


def test_the_interval_of_an_area_holds_it():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(1, 1, 40), rng.normal(0, 1, 40)])
    low, high = detection.auc_interval([scores], np.arange(40), np.arange(40, 80))
    assert low < detection.area_under_curve(scores[:40], scores[40:]) < high < 1


def test_corrupted_episodes_differ_in_their_actions_alone():
    data = pendulum_like()
    bad = _misrecorded(data)
    assert np.array_equal(bad.observations, data.observations)
    assert np.array_equal(bad.rewards, data.rewards)
    assert 0.1 < np.abs(bad.actions - data.actions).mean() < 1
    joined = _joined([data, bad])
    assert joined.episode_count == 12 and np.array_equal(joined.actions[len(data) :], bad.actions)


def test_detection_is_shown_with_one_row_a_score():
    rows = [
        {"environment": "Hopper-v5", "score": score, "against": against, "auc": auc}
        for score, against, auc in [
            ("return", "random", 1.0),
            ("return", "all", 0.5),
            ("bwd", "random", 0.25),
        ]
    ]
    assert detection.pivot(rows) == [
        {"score": "return", "Hopper-v5 random": 1.0},
        {"score": "bwd", "Hopper-v5 random": 0.25},
    ]


def test_the_study_renders_from_the_committed_results(tmp_path):
    shutil.copytree(RESULTS / "curation", tmp_path / "curation")
    text, missing = study("curation", results=tmp_path)
    assert missing == []
    assert "| Hopper-v5 | all-levels | bc | full | 3 | 5.476 |" in text
    assert "| bc_surprise | 1.000 |" in text


def test_the_plan_asks_with_the_settings_of_the_committed_runs():
    """Their keys hold the settings from before later ones were added, and the plan names the same runs."""
    about = json.loads((RESULTS / "curation" / "runs.json").read_text())
    settings = settings_of(arms.AGENTS, "lite", {})
    assert {agent: identifying(found) for agent, found in settings.items()} == about["agents"]
    rows = read_table(RESULTS / "curation" / "runs.csv")
    assert {row["arm"] for row in rows} == set(curation.STUDIED)
    places = {
        (row["environment"], row["dataset"], row["arm"], row["agent"], row["seed"]) for row in rows
    }
    wanted = len(curation.LEARNING) * len(MIXTURES) * len(curation.STUDIED) * 2 * curation.SEEDS
    assert len(places) == wanted == len(rows)


def test_a_cell_is_keyed_by_identifying_settings(grid):
    settings = settings_of(["bc"], "lite", {})
    prepared = {"path": grid.path, "fingerprint": "f", "weights": None, "weights_sha256": None}
    prepared |= {"episodes": 1, "transitions": 1, "data_return": 0.0}
    one = replace(grid, arms=("full",))
    (cell,) = learning.training_cells(one, [{"full": prepared}], settings)
    assert cell.task.settings["settings"] == identifying(settings["bc"])


def test_environments_that_were_scored_are_not_scored_again(tmp_path):
    shutil.copytree(RESULTS / "curation", tmp_path / "curation")
    before = (tmp_path / "curation" / "detection.csv").read_text()
    said: list[str] = []
    curation.run_detection(tmp_path / "curation", list(curation.DETECTION), tmp_path, said.append)
    assert said == [] and (tmp_path / "curation" / "detection.csv").read_text() == before
