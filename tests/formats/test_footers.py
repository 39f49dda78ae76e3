"""Parquet footers read by hand: sizes as pyarrow has them, and damage that would end pyarrow's process is refused."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rlassay.errors import DatasetError
from rlassay.formats.footers import stored_sizes


def write(path, **options):
    rows = 1_000
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=rows),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=3 * rows)), 3),
            "pair": pa.StructArray.from_arrays([pa.array(np.arange(rows))] * 2, ["one", "two"]),
            "name": [f"episode {k % 7}" for k in range(rows)],
            "flag": np.arange(rows) % 2 == 0,
        }
    )
    pq.write_table(table, path, row_group_size=300, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zstd", "use_dictionary": False, "write_page_index": True},
        {"version": "1.0", "write_statistics": False, "sorting_columns": [pq.SortingColumn(0)]},
    ],
)
def test_sizes_are_those_that_pyarrow_tells(tmp_path, options):
    write(tmp_path / "x.parquet", **options)
    told: Counter[str] = Counter()
    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            told[column.path_in_schema] += column.total_uncompressed_size
    assert stored_sizes(tmp_path / "x.parquet") == told


def test_a_schema_that_contradicts_the_statistics_is_refused(tmp_path):
    """One byte makes `x` required; pyarrow then aborts when the metadata of the column is asked for."""
    path = tmp_path / "data.parquet"
    rows = np.arange(20.0)
    names = ("observations", "actions", "rewards", "x")
    pq.write_table(pa.table(dict.fromkeys(names, rows)), path)
    content = path.read_bytes()
    optional = b"\x25\x02\x18\x01x"  # repetition_type 1, name "x"
    assert content.count(optional) == 1
    path.write_bytes(content.replace(optional, b"\x25\x00\x18\x01x"))
    code = (
        "import sys; from pathlib import Path; from rlassay.formats.guards import Budget\n"
        "from rlassay.formats.tables import read_parquet; from rlassay.errors import DatasetError\n"
        "path = Path(sys.argv[1]); read_parquet(path, ['actions'], Budget(path))\n"
        "try: read_parquet(path, ['x'], Budget(path))\n"
        "except DatasetError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot be read as Parquet" in done.stdout


def test_cut_and_endless_footers_end(tmp_path):
    path = tmp_path / "x.parquet"
    write(path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    for kept in range(0, length, 97):
        footer = content[-8 - length :][:kept]
        path.write_bytes(b"PAR1" + footer + kept.to_bytes(4, "little") + b"PAR1")
        with pytest.raises(IndexError):
            stored_sizes(path)
    nested = b"\x1c" * 10_000
    path.write_bytes(b"PAR1" + nested + len(nested).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(IndexError):
        stored_sizes(path)
    path.write_bytes(content[:-1])
    with pytest.raises(DatasetError, match="no Parquet footer"):
        stored_sizes(path)
