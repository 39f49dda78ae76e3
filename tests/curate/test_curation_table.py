"""The table of episode scores and its files."""

import csv

import numpy as np
import pyarrow.parquet
import pytest
from curate_data import made_table

from rlassay.errors import SettingsError
from rlassay.results.episodes import EpisodeTable, write_episode_table

TABLE = made_table(bwd=[1.5, np.nan, 1 / 3], **{"return": [10, 20, 30]})


def test_parquet_has_the_stated_columns_and_values(tmp_path):
    write_episode_table(tmp_path / "e.parquet", TABLE)
    read = pyarrow.parquet.read_table(tmp_path / "e.parquet")
    assert read.schema.names == ["episode", "start", "length", "return", "bwd"]
    assert read["bwd"].to_pylist() == [1.5, None, 1 / 3]
    assert read["start"].to_pylist() == [0, 10, 20]


def test_csv_reads_back_to_the_bit(tmp_path):
    write_episode_table(tmp_path / "e.csv", TABLE)
    with open(tmp_path / "e.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["episode", "start", "length", "return", "bwd"]
    assert [row["episode"] for row in rows] == ["0", "1", "2"]
    assert rows[1]["bwd"] == "" and float(rows[2]["bwd"]) == 1 / 3


def test_a_table_without_returns_keeps_the_column(tmp_path):
    write_episode_table(tmp_path / "e.csv", made_table(coverage=[0.5, 0.5]))
    assert (tmp_path / "e.csv").read_text().splitlines()[:2] == [
        "episode,start,length,return,coverage",
        "0,0,10,,0.5",
    ]


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"\.parquet, \.csv"):
        write_episode_table(tmp_path / "e.xlsx", TABLE)
    assert not list(tmp_path.iterdir())


def test_a_column_of_another_length_is_refused():
    with pytest.raises(SettingsError, match="wrong shape"):
        EpisodeTable(np.arange(3), np.ones(3), {"q": np.ones(2)})
