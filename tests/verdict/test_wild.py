"""The verdict on files of other projects: nothing is read too early, and errors, intervals and regret have known answers."""

from pathlib import Path

import pytest
from test_verdict_study import grid
from verdict_data import DATASET

from rlassay.data.references import Reference
from rlassay.errors import SettingsError
from rlassay.study import study, wild
from rlassay.study.grid.files import read_table, write_table
from rlassay.study.verdict.calibrate import calibration
from rlassay.study.verdict.cases import Case, wild_cases
from rlassay.verdict.calibration import POINTS
from rlassay.verdict.features import Features

LOW, HIGH = -1200.0, -200.0  # a point is 10 of return
AGENTS = ("bc", "td3bc", "iql")


def write_results(results: Path, reached: dict[str, tuple[float | None, ...]]) -> None:
    """Runs with these returns of three agents, and features of every set, whose returns are all -700 (50 points)."""
    runs = [
        {
            "environment": wild.ENVIRONMENT,
            "dataset": name,
            "agent": agent,
            "variant": "",
            "seed": 0,
            "score": None,
            "return": value,
            "diverged_at": None,
            "revision": 1,
            "key": f"{name}{agent}",
        }
        for name, values in reached.items()
        for agent, value in zip(AGENTS, values, strict=True)
    ]
    write_table(results / "wild" / "runs.csv", runs, list(runs[0]), {"revisions": [1]})
    counted = {name: DATASET[name] for name in Features.__dataclass_fields__}
    counted |= {"mean_return": -700.0, "return_by_step": -700.0, "several_modes": 0, "value": 1.0}
    counted["best_tenth"] = -400.0
    rows = [{"environment": wild.ENVIRONMENT, "dataset": name, **counted} for name in reached]
    write_table(results / wild.FEATURES, rows, list(rows[0]), {})
    scale = [{"environment": wild.ENVIRONMENT, "low": LOW, "high": HIGH}]
    write_table(results / "worlds" / "references.csv", scale, list(scale[0]), {})


def cases(results: Path) -> list[Case]:
    return wild_cases(results, read_table(results / "wild" / "runs.csv"), wild.FEATURES)


def test_points_are_those_of_the_world(tmp_path):
    write_results(tmp_path, {"a": (-700.0, -200.0, -300.0), "b": (-1200.0, -700.0, -700.0)})
    first, second = cases(tmp_path)
    assert first.scale == Reference(LOW, HIGH, "worlds")
    assert first.agents == pytest.approx({"bc": 50.0, "td3bc": 100.0, "iql": 90.0})
    assert second.reached.offline_rl == pytest.approx(50.0) and not first.votes


def test_intervals_and_labels_are_those_of_the_calibration(tmp_path):
    """Forecast are 50 points of both; the calibration is off by 3 everywhere, so its half-width is 3."""
    made = calibration(grid(error=3.0), "long")
    write_results(tmp_path, {"near": (-720.0, -680.0, -680.0), "far": (-650.0, -200.0, -200.0)})
    found = cases(tmp_path)
    rows = {row["target"]: row for row in wild.interval_rows(found, made)}
    assert made["half_widths"][POINTS]["cloning"] == pytest.approx(3.0)
    assert [rows[t]["covered"] for t in ("cloning", "offline_rl")] == [0.5, 0.5]
    near, far = wild.set_rows(found, made)
    assert (near["forecast_label"], near["outcome_label"]) == ("consistent", "consistent")
    assert (far["outcome_label"], far["advice"]) == ("mixed", "clone")
    assert far["cloning"] == pytest.approx(55.0) and far["offline_rl_forecast"] == pytest.approx(50)
    assert near["outside"] == "no"


def test_the_best_agent_is_judged_where_it_is_forecast(tmp_path):
    made = calibration(grid(error=3.0), "long")
    made["forecasts"]["best"] = "best tenth"
    made["half_widths"][POINTS]["best"] = 10.0
    write_results(tmp_path, {"near": (-720.0, -420.0, -680.0), "far": (-650.0, -200.0, -200.0)})
    rows = {row["target"]: row for row in wild.interval_rows(cases(tmp_path), made)}
    assert rows["best"]["covered"] == 0.5  # 80 points are forecast: 78 and 100 reached


def test_nothing_is_read_before_the_last_run(tmp_path):
    write_results(tmp_path, {"a": (-700.0, -200.0, None)})
    text, _ = study("wild", results=tmp_path)
    assert "| a | 3 | 2 | 0 |" in text and "Errors" not in text
    write_results(tmp_path, {"a": (-700.0, -200.0, -300.0)})
    text, _ = study("wild", results=tmp_path)
    assert "| a | 3 | 3 | 0 |" in text and "Errors" not in text  # the other worlds are not there
    assert not (tmp_path / "wild" / "sets.csv").exists()


def test_the_sets_are_named_by_the_user(tmp_path):
    with pytest.raises(SettingsError, match="real_pendulum.py"):
        study("wild", run=True, results=tmp_path)
