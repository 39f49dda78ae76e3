"""The table over real D4RL files: which way is better comes from the scores themselves."""

import csv

import pytest

from rlassay.study import d4rl


@pytest.mark.parametrize("name", ["bc_error", "pd"])
def test_a_score_that_is_better_when_lower_correlates_with_that_sign(tmp_path, monkeypatch, name):
    splits = ("random", "medium", "medium-replay", "medium-expert", "expert")
    for environment in ("hopper", "walker2d"):
        for split in splits:
            (tmp_path / f"{environment}-{split}-v2.hdf5").touch()

    def falling(path, dataset, report):
        environment, _, split = dataset.removesuffix("-v2").partition("-")
        oracle = 10.0 * splits.index(split)
        common = {"environment": environment, "dataset": split, "seed": 0, "oracle": oracle}
        return [
            {**common, "score_name": name, "value": -oracle},
            {**common, "score_name": "return", "value": oracle},
        ]

    monkeypatch.setattr(d4rl, "score_rows", falling)
    d4rl.d4rl_table("table1", tmp_path, tmp_path / "results", lambda line: None)
    with open(tmp_path / "results" / "d4rl" / "correlations.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "pearson"]
    found = {float(row["value"]) for row in rows if row["score_name"] == name}
    assert found and min(found) > 0.99
