"""The calibration and its tables, on cases with known answers and on the committed results."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta
from verdict_data import DATASET

from rlassay.errors import SettingsError
from rlassay.study.verdict import calibrate, candidates, tables
from rlassay.study.verdict.calibrate import calibration, residuals
from rlassay.study.verdict.cases import VALUE_BASED, Case, count_runs, described, read_cases
from rlassay.verdict.calibration import LARGEST, POINTS, Calibration
from rlassay.verdict.forecast import conformal_half_width

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
BASE = {"cloning": "return", "offline_rl": "return_by_step"}
MIXTURES = ("run-mix", "seed-mix", "fresh-replay", "medium-replay")


def case(environment, dataset, points, gain=0.0, clone=None, by_value=None, **row) -> Case:
    """A dataset of Hopper, HalfCheetah or Walker2d whose return lies at `points` and by step `gain` above."""
    empty = Case(environment, dataset, {}, {})
    values = {
        "mean_return": points,
        "return_by_step": points + gain,
        "lowest": 0.0,
        "highest": 120.0,
    }
    returns = {name: empty.in_returns(row.get(name, value)) for name, value in values.items()}
    features = {name: value for name, value in DATASET.items() if name not in ("best_agent",)}
    agents = {"bc": points if clone is None else clone}
    agents |= dict.fromkeys(VALUE_BASED, points + gain if by_value is None else by_value)
    extra = {"several_modes": 0.0, **{k: v for k, v in row.items() if k not in values}}
    return Case(environment, dataset, {**features, **returns, **extra}, agents)


def grid(error=0.0):
    """Three environments, four mixtures each; what is reached lies `error` above the forecast."""
    return [
        case(
            environment,
            dataset,
            20.0 * k,
            5.0,
            clone=20.0 * k + error,
            by_value=20.0 * k + 5 + error,
        )
        for environment in ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5")
        for k, dataset in enumerate(MIXTURES, start=1)
    ]


def test_points_and_returns_are_one_scale():
    one = Case("Hopper-v5", "x", {}, {})
    assert one.points(3234.3) == pytest.approx(100) and one.in_returns(100.0) == pytest.approx(
        3234.3
    )


def test_residuals_are_reached_minus_forecast_in_both_units():
    found = residuals(grid(error=7.0), "cloning", "return")
    assert found[POINTS] == pytest.approx(np.full(12, 7.0))
    width = 7 * (3234.3 + 20.272305) / 100  # of Hopper's reference range
    largest = grid()[0].features.largest
    assert found[LARGEST][0] == pytest.approx(width / largest)


@pytest.mark.parametrize(("n", "place"), [(9, 8), (10, 9), (4, 4), (1, 1), (99, 80)])
def test_the_conformal_half_width_is_an_order_statistic(n, place):
    residual = np.random.default_rng(n).permutation(np.arange(1.0, n + 1)) * (-1) ** np.arange(n)
    assert conformal_half_width(residual) == place


def test_split_conformal_covers_fresh_draws():
    rng = np.random.default_rng(0)
    hits = [abs(rng.normal()) <= conformal_half_width(rng.normal(size=28)) for _ in range(4_000)]
    assert 0.79 < np.mean(hits) < 0.84


def test_coverage_leaves_the_environment_out():
    cases = grid()
    far = [
        c if c.environment != "Hopper-v5" else case("Hopper-v5", c.dataset, 20, 5, clone=60)
        for c in cases
    ]
    rows = {
        row["left_out"]: row
        for row in tables.coverage_rows(far, BASE)
        if (row["unit"], row["target"]) == (POINTS, "cloning")
    }
    assert rows["Hopper-v5"]["covered"] == 0 and rows["Hopper-v5"]["below"] == "yes"
    assert rows["Walker2d-v5"]["covered"] == 1 and rows["Walker2d-v5"][
        "half_width"
    ] == pytest.approx(40)


def test_the_interval_of_a_share_is_exact():
    found = tables.covered(9, 14)
    assert found["low"] == pytest.approx(beta.ppf(0.025, 9, 6))
    assert found["high"] == pytest.approx(beta.ppf(0.975, 10, 5)) and found["below"] == "no"


def test_errors_in_points():
    rows = {
        (row["panel"], row["target"], row["forecast"]): row
        for row in tables.error_rows(grid(error=3.0), BASE)
    }
    assert rows["all", "cloning", "return"]["rmse"] == pytest.approx(3)
    assert rows["mixtures", "offline_rl", "return_by_step"]["bias"] == pytest.approx(-3)
    assert rows["mixtures", "offline_rl", "return"]["rmse"] == pytest.approx(8)
    assert rows["fresh mixtures", "cloning", "return"]["n"] == 3


def test_errors_of_the_best_agent():
    best_tenth = Case("Hopper-v5", "x", {}, {}).in_returns(86.0)
    cases = [
        case("Hopper-v5", dataset, 50, clone=40, by_value=80, best_tenth=best_tenth)
        for dataset in MIXTURES
    ]
    rows = {row["forecast"]: row for row in tables.best_agent_rows(cases) if row["panel"] == "all"}
    assert rows["best tenth"]["bias"] == pytest.approx(6)
    assert rows["return"]["rmse"] == pytest.approx(30)


def test_confusion_counts_outcomes_by_row():
    cases = [
        case("Hopper-v5", "a", 50, clone=50, by_value=70),
        case("Hopper-v5", "b", 90),
        case("Hopper-v5", "c", 90, clone=4, by_value=5),
    ]
    rows = {row["outcome"]: row for row in tables.confusion_rows(cases, BASE)}
    assert rows["mixed"]["consistent"] == 1  # forecast agrees with itself, the agents did not
    assert rows["expert-like"]["expert-like"] == 1 and rows["near-random"]["expert-like"] == 1
    assert sum(row[label] for row in rows.values() for label in tables.LABELS) == 3


def test_regret_against_the_better_of_both():
    cases = [
        case("Hopper-v5", "run-mix", 50, gain=20, clone=30, by_value=60),  # offline RL, rightly
        case("Hopper-v5", "seed-mix", 50, clone=50, by_value=60),  # clone, wrongly
        case("Hopper-v5", "expert", 1, clone=1, by_value=0),  # near random: one would clone
    ]
    rows = {(r["panel"], r["rule"]): r for r in tables.regret_rows(cases, BASE)}
    assert rows["all", "verdict"]["mean"] == pytest.approx(10 / 3)
    assert rows["all", "always bc"]["mean"] == rows["all", "mean return as forecast"]["mean"]
    assert rows["all", "always bc"]["worst"] == 30
    assert rows["all", "always iql"]["mean"] == pytest.approx(1 / 3)


def test_the_discount_is_fitted_on_other_environments_by_least_squares():
    rng = np.random.default_rng(0)
    level, conflict = rng.uniform(20, 90, 30), rng.uniform(0, 1, 30)
    assert candidates.fitted_share(level, conflict, level * (1 - 0.4 * conflict)) == pytest.approx(
        0.4
    )
    assert candidates.fitted_share(level, conflict, 2 * level) == 0
    assert candidates.fitted_share(level, conflict, 0 * level - 50) == 1


def test_candidates_see_a_conflict_that_lowers_what_is_reached():
    cases = [
        case(
            environment,
            dataset,
            60,
            10,
            clone=60 * (1 - 0.5 * c),
            by_value=70 * (1 - 0.5 * c),
            conflict=c,
            reachable=Case(environment, "", {}, {}).in_returns(65),
            world_loss=1 - c,
        )
        for environment in ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5")
        for dataset, c in zip(MIXTURES, (0.1, 0.4, 0.6, 0.9), strict=True)
    ]
    rows = candidates.candidate_rows(cases, "cloning")
    found = {row["candidate"]: row["rmse"] for row in rows}
    assert list(found) == ["return", "half", "reachable", "conflict", "learned world"]
    assert found["conflict"] == pytest.approx(0, abs=1e-9) and candidates.choose(rows) == "conflict"
    assert candidates.choose(rows, refined=False) in ("return", "half", "reachable")


def test_a_later_candidate_has_to_be_better_by_a_twentieth():
    rows = [{"candidate": "a", "rmse": 10.0}, {"candidate": "b", "rmse": 9.6}]
    assert candidates.choose(rows) == "a"
    assert candidates.choose([*rows, {"candidate": "c", "rmse": 9.4}]) == "c"


def test_nothing_is_chosen_on_the_lite_oracle():
    assert calibrate.chosen_forecasts([]) == BASE


def test_the_oracle_is_named_and_provisional():
    assert described("lite") == "lite, 48,000 updates, provisional"
    assert described("long") == "long, 150,000 updates"


# -- the committed results ---------------------------------------------------------------------------------------------


def test_the_packaged_calibration_is_made_of_the_committed_results():
    packaged = json.loads((ROOT / "src/rlassay/verdict/calibration.json").read_text())
    oracle = packaged["oracle"].partition(",")[0]
    assert packaged == calibration(read_cases(RESULTS, oracle), oracle)
    assert (
        Calibration.from_dict(packaged).oracle == f"{described(oracle)} (50,000 on smaller tasks)"
    )
    assert packaged == json.loads((RESULTS / "verdict" / "calibration.json").read_text())


def test_features_agree_with_the_committed_scores():
    from rlassay.study.analysis.d4rl_scale import scores_on_d4rl_scale

    scores = scores_on_d4rl_scale(RESULTS)
    for one in read_cases(RESULTS, "lite"):
        known = scores[one.environment, one.dataset]
        assert one.points(one.row["mean_return"]) == pytest.approx(known["return"], rel=1e-5)
        assert one.points(one.row["return_by_step"]) == pytest.approx(
            known["return_by_step"], rel=1e-5
        )


def test_every_calibrated_dataset_lies_inside_the_ranges():
    from rlassay.verdict.calibration import outside, packaged

    assert all(
        outside(packaged(), one.features, False) == [] for one in read_cases(RESULTS, "lite")
    )


def test_an_incomplete_oracle_is_refused_before_its_scores_are_read(tmp_path):
    with pytest.raises(SettingsError, match="incomplete"):
        read_cases(tmp_path, "long")
    with pytest.raises(SettingsError, match="unknown oracle"):
        read_cases(RESULTS, "lengthy")


def test_the_long_oracle_is_taken_once_it_is_complete():
    from rlassay.study.verdict.cases import chosen_oracle

    wanted, done = count_runs(RESULTS, "long")
    assert wanted == 252
    assert chosen_oracle(RESULTS) == ("long" if done == wanted else "lite")
    if done < wanted:
        with pytest.raises(SettingsError, match="wait for"):
            read_cases(RESULTS, "long")
