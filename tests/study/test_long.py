"""The long oracle on synthetic results: nothing is read before the mixtures are complete, then every question is answered."""

import shutil

import numpy as np
import pytest

from rlassay.data.references import reference_for
from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.study import study
from rlassay.study.analysis.d4rl_scale import in_points, scores_on_d4rl_scale
from rlassay.study.analysis.questions import answer, primary_answer
from rlassay.study.grid.files import read_table, write_table
from rlassay.study.grid.plan import (
    AGENTS,
    DEFAULT_DISCOUNT,
    ENVIRONMENTS,
    FRESH_MIXTURES,
    MIXTURES,
    ORACLE_DATASETS,
    OTHERS,
)
from rlassay.study.grid.training import COLUMNS, CURVE_COLUMNS, LONG_COLUMNS, LONG_CURVE_COLUMNS
from rlassay.study.scoring import COLUMNS as SCORE_COLUMNS

EVERY = range(10_000, 150_001, 10_000)


def quality(environment: str, dataset: str) -> float:
    """What the agents reach in the end; `q` knows it, `return` follows it with an error."""
    names = (*MIXTURES, *OTHERS)
    return 10.0 + 80 * ((names.index(dataset) * 7 + ENVIRONMENTS.index(environment)) % 14) / 13


def wrong(environment: str, dataset: str) -> float:
    return 25.0 * np.sin(13 * quality(environment, dataset))


def write_scores(folder, datasets):
    rows = []
    for environment in ENVIRONMENTS:
        reference = reference_for(environment)
        width = reference.high - reference.low
        factor = 1 / (reference.horizon * (1 - DEFAULT_DISCOUNT))
        for dataset in datasets:
            truth = quality(environment, dataset)
            back = {
                "q": factor * (reference.low + truth / 100 * width),
                "bwd.exact": factor * (reference.low + (truth - 5) / 100 * width),
                "return": reference.low + (truth + wrong(environment, dataset)) / 100 * width,
                "return_by_step": reference.low + (truth + 10) / 100 * width,
            }
            rows += [
                {
                    "environment": environment,
                    "dataset": dataset,
                    "score_name": name,
                    "seed": 0,
                    "discount": DEFAULT_DISCOUNT,
                    "value": value,
                }
                for name, value in back.items()
            ]
    write_table(folder / "scores.csv", rows, [*SCORE_COLUMNS, "key"], {"complete": True})


def make_run(environment, dataset, agent, seed, done=True):
    noise = 3 * np.sin(len(agent) * 5 + quality(environment, dataset)) + seed
    score = quality(environment, dataset) + noise if done else None
    return {
        "environment": environment,
        "dataset": dataset,
        "agent": agent,
        "seed": seed,
        "score": score,
        "half_score": score,
        "revision": 1,
        "seconds": 100.0 if done else None,
        "evaluation_seconds": 5.0,
    }


def make_curve(run, updates):
    """Runs begin at what the mean return says and end at what `q` says."""
    start = quality(run["environment"], run["dataset"]) + wrong(run["environment"], run["dataset"])
    if run["score"] is None:
        return []
    share = np.array(updates) / updates[-1]
    values = (1 - share) * start + share * run["score"]
    return [{**run, "updates": u, "score": float(v)} for u, v in zip(updates, values, strict=True)]


def write_runs(folder, runs, updates, columns=COLUMNS, curve_columns=CURVE_COLUMNS):
    about = {"complete": True, "revisions": [1]}
    write_table(folder / "runs.csv", runs, [*columns, "key"], about)
    curves = [row for run in runs for row in make_curve(run, updates)]
    write_table(folder / "curves.csv", curves, [*curve_columns, "key"], about)


@pytest.fixture(scope="module")
def lite_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, datasets in (("table1", ORACLE_DATASETS), ("confirm", FRESH_MIXTURES)):
        write_scores(folder / name, datasets)
        runs = [make_run(e, d, a, 0) for e in ENVIRONMENTS for d in datasets for a in AGENTS]
        write_runs(folder / name, runs, (12_000, 24_000, 36_000, 48_000))
    return folder


@pytest.fixture
def results(lite_results, tmp_path):
    shutil.copytree(lite_results, tmp_path / "results")
    return tmp_path / "results"


def long_runs(datasets, seed=0, left_out=None):
    return [
        make_run(e, d, a, seed, done=(e, d, a) != left_out)
        for e in ENVIRONMENTS
        for d in datasets
        for a in LONG_AGENTS
    ]


def write_long(results, runs):
    write_runs(results / "long", runs, EVERY, LONG_COLUMNS, LONG_CURVE_COLUMNS)


def test_nothing_is_read_before_the_mixtures_are_complete(results):
    missing = ("Walker2d-v5", "fresh-seed-mix", "onestep")
    write_long(results, long_runs(MIXTURES, left_out=missing))
    text, _ = study("long", results=results)
    assert "| (a) mixtures | 162 | 161 | 0 |" in text
    assert "earson" not in text and not (results / "long" / "questions.csv").exists()
    text, _ = study("fig2", results=results)
    assert "161 of the 162 runs on mixtures" in text and "side by side" not in text


def test_the_questions_are_answered_once_they_are(results):
    write_long(results, long_runs(MIXTURES) + long_runs(MIXTURES, seed=1))
    text, _ = study("long", results=results)
    assert "Primary question, over the 27 mixtures" in text and "**yes**" in text
    assert "no independent confirmation" in text
    questions = read_table(results / "long" / "questions.csv")
    primary = next(
        r
        for r in questions
        if (r["panel"], r["scaling"], r["target"], r["score_name"])
        == ("mixtures", "D4RL's scale", "mean of agents", "q")
    )
    assert primary["n"] == 27 and primary["value"] > 0.99 and primary["minus_return_low"] > 0
    halves = {row["halves"]: row for row in read_table(results / "long" / "reliability.csv")}
    assert set(halves) == {"agents", "seeds"}
    assert halves["agents"]["ceiling"] == pytest.approx(halves["agents"]["reliability"] ** 0.5)
    forecasts = read_table(results / "long" / "forecasts.csv")
    assert {row["panel"] for row in forecasts} == {"mixtures"}
    assert forecasts[0]["return_by_step"] == pytest.approx(10, abs=3)
    resting = read_table(results / "long" / "rest.csv")
    assert len(resting) == 2 * 27 * 6 and {row["seed"] for row in resting} == {0, 1}


def test_a_second_seed_counts_once_all_agents_have_run_with_it(results):
    def answers():
        study("long", results=results)
        return {
            name: read_table(results / "long" / f"{name}.csv")
            for name in ("questions", "when", "rest", "reliability")
        }

    first = long_runs(MIXTURES)
    write_long(results, first)
    alone = answers()
    begun = [make_run("Hopper-v5", MIXTURES[0], agent, 1) for agent in LONG_AGENTS]
    write_long(results, first + begun[:-1])
    assert answers() == alone
    write_long(results, first + begun)
    assert answers()["questions"] != alone["questions"]


def test_all_datasets_bring_the_second_panel_and_the_default(results):
    write_long(results, long_runs(MIXTURES) + long_runs(OTHERS))
    text, _ = study("long", results=results)
    panels = {row["panel"] for row in read_table(results / "long" / "jackknife.csv")}
    assert panels == {"mixtures", "all"}
    assert "rlassay study paper --run" in text
    write_scores(results / "long", (*MIXTURES, *OTHERS))
    text, _ = study("long", results=results)
    assert "on the long oracle of 42 datasets\n\nRule 1 chooses `bwd.exact`" in text
    (row,) = read_table(results / "long" / "choice.csv")
    assert row["mean"] == pytest.approx(np.mean([row[environment] for environment in ENVIRONMENTS]))


def test_who_wins_when_is_drawn_with_the_lite_runs_as_points(results):
    write_long(results, long_runs(MIXTURES))
    study("long", results=results)
    rows = read_table(results / "long" / "when.csv")
    lasting = {(r["updates"], r["score_name"]): r for r in rows if r["oracle"] == "long"}
    assert {updates for updates, _ in lasting} == set(map(float, EVERY))
    assert lasting[10_000, "return"]["value"] > lasting[10_000, "q"]["value"]
    assert lasting[150_000, "q"]["value"] > lasting[150_000, "return"]["value"]
    early = {r["agents"] for (updates, _), r in lasting.items() if updates <= 120_000}
    assert early == {5}  # without OnestepRL
    assert {r["agents"] for (u, _), r in lasting.items() if u > 120_000} == {6}
    assert {r["updates"] for r in rows if r["oracle"] == "lite"} == {48_000}
    figure = results / "long" / "when.svg"
    svg = figure.read_text()
    for words in (
        "updates (thousands)",
        "Pearson with the mean of the agents",
        "onestep enters",
        "noise ceiling",
        "end of the lite runs",
    ):
        assert words in svg, words
    study("long", results=results)
    assert figure.read_text() == svg  # no diff where nothing changed


def test_both_oracles_stand_side_by_side(results):
    write_long(results, long_runs(MIXTURES))
    text, _ = study("fig2", results=results)
    part = text.split("### The lite and the long oracle side by side")[1].split("###")[0]
    assert "mixtures, lite (n = 27)" in part and "mixtures, long (n = 27)" in part
    assert "all, long" not in part and "*noise ceiling*" in part and "minus return" in part


def test_algorithm_1_as_printed_is_judged_under_its_own_name(results):
    write_long(results, long_runs(MIXTURES))
    rows = [
        {
            "environment": e,
            "dataset": d,
            "score_name": name,
            "seed": 0,
            "preset": "paper",
            "value": value,
        }
        for e in ENVIRONMENTS
        for d in (*MIXTURES, *OTHERS)
        for name, value in (("bwd.dual", -1e12), ("bwd.dual literal", -1e12), ("q", quality(e, d)))
    ]
    write_table(results / "long" / "paper_scores.csv", rows, list(rows[0]), {"complete": True})
    study("long", results=results)
    names = {row["score_name"] for row in read_table(results / "long" / "questions.csv")}
    assert {"bwd.dual as printed", "q as printed", "q"} <= names
    assert "bwd.dual literal as printed" not in names  # no place on D4RL's scale
    text, _ = study("paper", results=results)
    assert "bwd.dual literal, as printed" in text and "-1.00e+12" in text


def test_points_of_the_normalised_score(results):
    reference = reference_for("Hopper-v5")
    assert in_points("Hopper-v5", "return", reference.high) == pytest.approx(100)
    assert in_points("Hopper-v5", "q as printed", reference.low / 10) == pytest.approx(0, abs=1e-9)
    assert in_points("Hopper-v5", "knn_entropy", 1.0) is None
    found = scores_on_d4rl_scale(results)["Hopper-v5", "run-mix"]
    assert found["q"] == pytest.approx(quality("Hopper-v5", "run-mix"))


def test_what_an_interval_says():
    assert [answer(*ends) for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (None, None))] == [
        "yes",
        "no",
        "not shown",
        "not shown",
    ]
    row = {
        "panel": "mixtures",
        "scaling": "D4RL's scale",
        "target": "mean of agents",
        "score_name": "q",
        "n": 27,
    }
    row |= {"minus_return_value": -0.2, "minus_return_low": -0.3, "minus_return_high": -0.1}
    assert "**no**: -0.20 [-0.30, -0.10]" in primary_answer([row])
