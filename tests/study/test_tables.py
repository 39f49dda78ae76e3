"""Tables and the JSON beside them: rows that were lost, text that was changed, tables older than hashes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rlassay.errors import DatasetError
from rlassay.study.grid.files import read_about, read_table, write_table

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "fig1" / "runs.csv"
    rows = [
        {
            "environment": "Hopper-v5",
            "dataset": "level-50k",
            "agent": "td3bc",
            "variant": weight,
            "seed": 0,
            "score": 10.0 * k,
            "revision": 1,
            "key": str(k),
        }
        for k, weight in enumerate(("0", "2.5", "inf"))
    ]
    write_table(path, rows, list(rows[0]), {"complete": True, "revisions": [1]})
    return path


def test_a_table_is_read_as_it_was_written(table):
    assert len(read_table(table)) == 3
    assert read_about(table)["rows"] == 3 and len(read_about(table)["sha256"]) == 64


def test_lost_rows_are_one_sentence_and_exit_code_2(table):
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(
        DatasetError, match=r"fig1/runs.csv has lost or gained rows.*3 rows.*2 rows"
    ):
        read_table(table)
    command = [sys.executable, "-m", "rlassay", "study", "fig1", "--results", str(table.parents[1])]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2 and ended.stdout == "" and ended.stderr.count("\n") == 1
    assert "fig1/runs.csv" in ended.stderr and "Traceback" not in ended.stderr
    assert len(read_table(table, checked=False)) == 2  # what goes on with a run completes it


def test_a_changed_number_is_seen(table):
    table.write_text(table.read_text().replace("20", "90"))
    with pytest.raises(DatasetError, match="was changed after it was written"):
        read_table(table)


def test_a_table_older_than_hashes_is_checked_by_its_count(table):
    about = read_about(table)
    del about["sha256"]
    table.with_suffix(".json").write_text(json.dumps(about))
    table.write_text(table.read_text().replace("20", "90"))
    assert len(read_table(table)) == 3
    table.write_text(table.read_text() + table.read_text().splitlines()[-1] + "\n")
    with pytest.raises(DatasetError, match="4 rows"):
        read_table(table)


def test_every_committed_table_is_whole():
    tables = [
        p.with_suffix(".csv") for p in RESULTS.rglob("*.json") if p.with_suffix(".csv").exists()
    ]
    assert len(tables) > 30
    for path in tables:
        read_table(path)
