"""CSV tables: one row a step, columns of numbers under a line of names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from rlassay.errors import DatasetError
from rlassay.formats.guards import Budget, plain_file, refusing
from rlassay.formats.tables import table_column

PARSED_SIZE = 3  # bytes in memory for one byte of text, at most: "0," becomes a float64 and a copy
DELIMITERS = (",", ";", "\t")


class CsvColumns:
    """The columns of one or several CSV files with the same header."""

    kind = "csv"

    def __init__(self, files: list[Path], budget: Budget):
        tables = [_table(file, budget) for file in files]
        if len({tuple(table.column_names) for table in tables}) > 1:
            raise DatasetError("the CSV files of the folder differ in their columns")
        self._table = pa.concat_tables(tables, promote_options="permissive")

    def __enter__(self) -> CsvColumns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def names(self) -> list[str]:
        return self._table.column_names

    def read(self, name: str) -> np.ndarray | None:
        return table_column([self._table], name) if name in self._table.column_names else None


def _table(file: Path, budget: Budget) -> pa.Table:
    size = plain_file(file).stat().st_size
    budget.take(PARSED_SIZE * size, str(file))
    with open(file, "rb") as opened:
        header = opened.readline(2**20).decode("utf-8-sig", "replace")
    mark = max(DELIMITERS, key=header.count)
    with refusing(file, "CSV"):
        table = csv.read_csv(
            file,
            read_options=csv.ReadOptions(use_threads=False, block_size=2**24),
            parse_options=csv.ParseOptions(delimiter=mark),
        )
    names = [name or f"column_{index}" for index, name in enumerate(table.column_names)]
    if len(set(names)) != len(names):
        raise DatasetError(f"{file} has two columns of one name", got=names[:20])
    return table.rename_columns(names)
