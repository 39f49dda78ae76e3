"""How little is enough: agreement of cut-down scores with the full one and with the oracle."""

import pytest

from rlassay.study.grid.files import read_table, write_table
from rlassay.study.runtime import CUTS, FULL, agreement_rows, render

ENVIRONMENT = "Hopper-v5"
DATASETS = ("a", "b", "c", "d")


def growth() -> list[dict]:
    """The full score orders a < b < c < d; the smallest cut reverses it."""
    return [
        {
            "environment": ENVIRONMENT,
            "dataset": name,
            "transitions": transitions,
            "critic_steps": steps,
            "score_name": "q",
            "value": -k if (transitions, steps) == CUTS[0] else k,
            "seconds": 2.0,
        }
        for transitions, steps in CUTS
        for k, name in enumerate(DATASETS)
    ]


def test_the_last_cut_is_the_full_score():
    assert CUTS[-1] == FULL
    assert len(set(CUTS)) == len(CUTS)


def test_cut_scores_are_compared_with_the_full_one_and_with_the_oracle():
    oracle = {
        (ENVIRONMENT, name): value
        for name, value in zip(DATASETS, (0.0, 1.0, 2.0, 30.0), strict=True)
    }
    rows = agreement_rows(growth(), oracle)
    assert len(rows) == len(CUTS)
    assert rows[0]["pearson_with_full"] == pytest.approx(-1)
    assert rows[-1]["pearson_with_full"] == pytest.approx(1)
    assert rows[-1]["pearson_with_oracle"] == pytest.approx(-rows[0]["pearson_with_oracle"])
    assert 0.5 < rows[-1]["pearson_with_oracle"] < 1


def test_without_an_oracle_the_cell_is_empty(tmp_path):
    folder = tmp_path / "runtime"
    rows = growth()
    write_table(folder / "growth.csv", rows, list(rows[0]), {"complete": True})
    write_table(folder / "times.csv", [{"what": "score", "seconds": 1.0}], ["what", "seconds"], {})
    assert "pearson_with_oracle" in render(tmp_path)
    assert {row["pearson_with_oracle"] for row in read_table(folder / "agreement.csv")} == {None}
    assert "Pearson over the datasets" in (folder / "figure.svg").read_text()
