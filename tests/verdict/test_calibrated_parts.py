"""Calibration with conflict mixtures, best parts and other worlds, on made-up tables of features and outcomes."""

import json

import numpy as np
import pytest
from verdict_data import DATASET, NO_FAULT, episodes_of

from rlassay.data.references import Reference, reference_for
from rlassay.errors import SettingsError
from rlassay.oracle.profiles import LONG_AGENTS
from rlassay.study import parts, worlds
from rlassay.study.grid.files import write_table
from rlassay.study.grid.plan import CONFLICT_MIXTURES, ENVIRONMENTS, MIXTURES
from rlassay.study.grid.training import LONG_COLUMNS
from rlassay.study.verdict import calibrate, candidates, render, tables
from rlassay.study.verdict.cases import BEST_PARTS, CONFLICT, WORLDS, every_key, read_cases
from rlassay.study.verdict.features import COLUMNS, REFINED_COLUMNS
from rlassay.verdict.calibration import POINTS, Calibration, outside
from rlassay.verdict.verdict import verdict_of

K = 0.5  # the true discount: reached = return (1 - K conflict)
SCALE = dict.fromkeys(worlds.STEPS, (-100.0, 300.0))


def reference_of(environment: str) -> Reference:
    known = reference_for(environment)
    return Reference(*SCALE[environment], "made up") if known is None else known


def level_of(key) -> tuple[float, float]:
    """Points and conflict of a made-up dataset."""
    rng = np.random.default_rng([len(key[0]), sum(map(ord, key[1]))])
    conflict = 0.9 if key[1] in CONFLICT_MIXTURES else rng.uniform(0, 0.5)
    return float(rng.uniform(20, 90)), float(conflict)


def feature_row(key) -> dict:
    points, conflict = level_of(key)
    scale = reference_of(key[0])

    def back(value):
        return scale.low + value * (scale.high - scale.low) / 100

    row = {name: DATASET[name] for name in ("transitions", "episodes", "mean_length", "longest")}
    small = key[0] in worlds.STEPS
    row |= {"observation_dim": 3 if small else 11, "action_dim": 1 if small else 3}
    row |= {"coverage": 0.9, "deviation": 1.0, "several_modes": 0}
    row |= {"mean_return": back(points), "return_by_step": back(points)}
    row |= {"lowest": back(0.0), "highest": back(120.0), "value": 1.0}
    row |= {"reachable": back(points), "best_tenth": back(110), "best_tenth_error": conflict}
    row |= {"world_loss": 0.3, "best_part": back(points + 6), "best_part_error": conflict}
    return {"environment": key[0], "dataset": key[1], "conflict": conflict, **row}


def reached_by(key, agent: str) -> float:
    points, conflict = level_of(key)
    above = {"bc": 0.0, "iql": 2.0, "td3bc": -2.0}.get(agent, 0.0)
    return points * (1 - K * conflict) + above * (agent != "bc")


def run_row(key, agent: str, points: float, variant: str = "") -> dict:
    scale = reference_of(key[0])
    value = scale.low + points * (scale.high - scale.low) / 100
    named = {"environment": key[0], "dataset": key[1], "agent": agent, "variant": variant}
    score = points if reference_for(key[0]) else None
    return {**named, "seed": 0, "score": score, "return": value, "updates": 1, "revision": 1}


def write_runs(results, study, rows) -> None:
    write_table(results / study / "runs.csv", rows, [*LONG_COLUMNS, "key"], {"revisions": [1]})


@pytest.fixture
def results(tmp_path):
    """A complete long oracle and complete parts, all made up."""
    keys = [*every_key(), *CONFLICT.keys, *WORLDS.keys]
    rows = [feature_row(key) for key in keys]
    write_table(tmp_path / "verdict" / "features.csv", rows, COLUMNS, {})
    write_table(tmp_path / "verdict" / "refined.csv", rows, REFINED_COLUMNS, {})
    for study, known, agents in (
        ("long", every_key(), LONG_AGENTS),
        ("conflict", CONFLICT.keys, LONG_AGENTS),
        ("worlds", WORLDS.keys, worlds.AGENTS),
    ):
        runs = [run_row(key, agent, reached_by(key, agent)) for key in known for agent in agents]
        write_runs(tmp_path, study, runs)
    clones = [run_row(key, "bc", level_of(key)[0] - 3, parts.VARIANT) for key in BEST_PARTS.keys]
    write_runs(tmp_path, "parts", clones)
    scales = [{"environment": e, "low": low, "high": high} for e, (low, high) in SCALE.items()]
    write_table(tmp_path / "worlds" / "references.csv", scales, worlds.REFERENCE_COLUMNS, {})
    return tmp_path


def without_a_run(results, study) -> None:
    """The last run of a study has not been made."""
    part = {"conflict": CONFLICT, "parts": BEST_PARTS, "worlds": WORLDS}[study]
    runs = [run_row(key, agent, 50.0) for key in part.keys for agent in part.agents]
    write_runs(results, study, [*runs[:-1], {**runs[-1], "score": None, "return": None}])


def test_every_part_is_read_once_it_is_complete(results):
    cases = read_cases(results, "long")
    assert len(cases) == 42 + 6 + 18
    by_key = {(case.environment, case.dataset): case for case in cases}
    world = by_key["Reacher-v5", "world-late"]
    points, conflict = level_of(("Reacher-v5", "world-late"))
    assert world.agents["bc"] == pytest.approx(points * (1 - K * conflict))  # from its return
    assert world.reached.offline_rl == pytest.approx(world.agents["bc"])  # of td3bc and iql
    assert world.best_part is None and not world.votes
    mixture = by_key["Hopper-v5", "conflict-similar"]
    assert mixture.votes and mixture.best_part == pytest.approx(
        level_of(("Hopper-v5", "conflict-similar"))[0] - 3
    )


@pytest.mark.parametrize(("study", "left"), [("conflict", 60), ("worlds", 48), ("parts", 66)])
def test_an_incomplete_part_is_left_out_and_named(study, left, results):
    without_a_run(results, study)
    cases = read_cases(results, "long")
    assert len(cases) == left
    if study == "parts":
        assert all(case.best_part is None for case in cases)
        assert candidates.targets(cases) == candidates.TARGETS
    text = render(results)
    assert "Not used yet" in text and "lack 1 runs" in text
    made = json.loads((results / "verdict" / "calibration.json").read_text())
    shorter = "" if study == "worlds" else " (50,000 on smaller tasks)"
    assert made["oracle"] == f"long, 150,000 updates{shorter}"
    if study == "conflict":  # they vote: without them nothing is chosen
        assert made["forecasts"] == candidates.base() and "refined" not in made
        assert "### Candidates" not in text and "Nothing is chosen" in text
    else:
        assert "### Candidates" in text and "Nothing is chosen" not in text


def test_without_a_choice_refined_features_are_not_needed(results):
    (results / "verdict" / "refined.csv").unlink()
    without_a_run(results, "conflict")
    assert "Nothing is chosen" in render(results)


def test_missing_features_are_refused_with_the_command_that_makes_them(results):
    (results / "verdict" / "refined.csv").unlink()
    with pytest.raises(SettingsError, match="66 datasets have no features") as refused:
        read_cases(results, "long")
    assert "rlassay study verdict --run" in str(refused.value)


def test_the_rule_finds_the_discount_and_keeps_it_for_refined_cards(results):
    cases = read_cases(results, "long")
    rows = candidates.candidate_rows(cases, "cloning")
    assert {row["n"] for row in rows} == {len(ENVIRONMENTS) * (len(MIXTURES) + 2)}
    found = {row["candidate"]: row for row in rows}
    assert found["conflict"]["rmse"] == pytest.approx(0, abs=1e-6)
    assert found["conflict"]["fitted"] == pytest.approx(K)
    six = [row["candidate"] for row in candidates.candidate_rows(cases, "offline_rl")]
    assert len(six) == 6 and six[-1] == "percentile clone"
    made = calibrate.calibration(cases, "long")
    assert made["forecasts"]["cloning"] == "return"
    assert made["refined"]["forecasts"]["cloning"] == "conflict"
    assert made["refined"]["coefficients"]["cloning"] == pytest.approx(K)
    assert made["refined"]["half_widths"][POINTS]["cloning"] < 1e-3
    assert made["half_widths"][POINTS]["cloning"] > 5
    assert len(made["environments"]) == 6


def test_panels_of_every_table(results):
    text = render(results)
    for panel in ("first mixtures", "fresh mixtures", "conflict mixtures", "other worlds"):
        assert f"| {panel} | cloning |" in text and f"| {panel} | verdict |" in text
    judged = len(candidates.made_afterwards(read_cases(results, "long")))
    assert f"| {tables.THE_TEST} | best | best tenth | {judged} |" in text
    for title in ("Candidates", "Refined errors", "Refined coverage", "Confusion"):
        assert f"### {title}" in text
    assert "best_part" in text and "always the best part" in text and "Not used yet" not in text
    made = json.loads((results / "verdict" / "calibration.json").read_text())
    assert Calibration.from_dict(made).refined is not None


def test_ranges_follow_what_is_calibrated(results):
    whole = Calibration.from_dict(calibrate.calibration(read_cases(results, "long"), "long"))
    cases = {c.environment: c for c in read_cases(results, "long")}
    pendulum = cases["Pendulum-v1"].features
    assert outside(whole, pendulum, False) == []
    without_a_run(results, "worlds")
    smaller = Calibration.from_dict(calibrate.calibration(read_cases(results, "long"), "long"))
    assert whole.oracle == "long, 150,000 updates (50,000 on smaller tasks)"
    assert smaller.oracle == "long, 150,000 updates"
    assert any("3 dimensions" in told for told in outside(smaller, pendulum, False))


def test_regret_counts_the_best_part_where_it_was_trained(results):
    cases = read_cases(results, "long")
    forecasts = {"cloning": "return", "offline_rl": "return_by_step", "best_part": "best part"}
    rows = {(r["panel"], r["rule"]): r for r in tables.regret_rows(cases, forecasts)}
    mixture = rows["conflict mixtures", "always bc"]
    assert mixture["mean"] > 5  # the best part loses 3 points, the clone almost half
    assert rows["conflict mixtures", "verdict"]["mean"] == pytest.approx(0)  # forecast 6 above
    assert rows["conflict mixtures", "always the best part"]["mean"] == pytest.approx(0)
    assert rows["other worlds", "verdict"]["worst"] < 1e-6
    means = {row["panel"]: row for row in tables.reached_rows(cases)}
    known = [case.reached for case in cases if case.dataset in CONFLICT_MIXTURES]
    assert means["conflict mixtures"]["best_part"] == pytest.approx(
        np.mean([each.best_part for each in known])
    )
    assert means["other worlds"]["best_part"] is None and means["all"]["best_part"] is None
    assert means["all"]["n"] - means["all but other worlds"]["n"] == means["other worlds"]["n"]
    assert ("other worlds", "always the best part") not in rows  # it was not trained there
    every, part = rows["all", "verdict"], rows["all", "always the best part"]
    assert every["n"] - part["n"] == rows["other worlds", "verdict"]["n"]


def test_a_card_goes_by_the_refined_choice_where_it_was_measured(results):
    made = Calibration.from_dict(calibrate.calibration(read_cases(results, "long"), "long"))
    data = episodes_of(np.linspace(20, 100, 100), dims=(11, 3))
    scale = Reference(0.0, 100.0, "given")
    plain, _ = verdict_of(data, scale, NO_FAULT, calibration=made)
    measured = {"conflict": 0.8, "best_part_error": 0.0, "world_loss": 0.0, "best_tenth_error": 0.0}
    refined, _ = verdict_of(data, scale, NO_FAULT, calibration=made, measured=measured)
    assert plain is not None and refined is not None
    assert plain["cloning"]["value"] == pytest.approx(60)
    assert refined["cloning"]["value"] == pytest.approx(60 * (1 - K * 0.8), abs=1e-3)
    own, _ = verdict_of(data, None, NO_FAULT, calibration=made, measured=measured)
    assert own is not None  # without points what lies above the lowest return is discounted
    assert own["cloning"]["value"] == pytest.approx(20 + 40 * (1 - K * 0.8), abs=1e-3)
    assert own["advice"]["action"] != "clone-best-part"
    best = np.sort(data.episode_returns)[-20:].mean()
    assert plain["best_part"]["value"] == pytest.approx(best)


@pytest.mark.parametrize(("best", "holds"), [(109.0, True), (20.0, False)])
def test_the_best_agent_is_forecast_where_its_test_is_passed(best, holds, results):
    for part in (CONFLICT, WORLDS):  # the best tenth lies at 110 points
        runs = [
            run_row(key, agent, best if agent == "iql" else 10.0)
            for key in part.keys
            for agent in part.agents
        ]
        write_runs(results, part.study, runs)
    cases = read_cases(results, "long")
    made = calibrate.calibration(cases, "long")
    assert made["forecasts"].get("best") == ("best tenth" if holds else None)
    data = episodes_of(np.linspace(20, 100, 40), dims=(11, 3))
    told, _ = verdict_of(
        data, Reference(0.0, 100.0, "given"), NO_FAULT, calibration=Calibration.from_dict(made)
    )
    assert told is not None and ("best" in told) == holds
    if holds:
        assert told["best"]["value"] == pytest.approx(np.sort(data.episode_returns)[-4:].mean())
        rows = tables.coverage_rows(cases, made["forecasts"])
        assert {row["target"] for row in rows} == {*made["forecasts"]}
    without_a_run(results, "worlds")  # no test without both
    assert "best" not in calibrate.calibration(read_cases(results, "long"), "long")["forecasts"]


@pytest.mark.parametrize(
    ("episodes", "lengths", "told"), [(50, 100, True), (47, 100, False), (60, 80, False)]
)
def test_a_best_part_that_would_be_too_small_is_not_forecast(results, episodes, lengths, told):
    """A fifth of 47 is 9 episodes; 12 of 80 steps are 960 transitions."""
    made = Calibration.from_dict(calibrate.calibration(read_cases(results, "long"), "long"))
    data = episodes_of(np.linspace(20, 100, episodes), lengths=lengths, dims=(11, 3))
    found, _ = verdict_of(data, Reference(0.0, 100.0, "given"), NO_FAULT, calibration=made)
    assert found is not None and ("best_part" in found) is told
    assert (found["advice"]["action"] == "clone-best-part") is told
