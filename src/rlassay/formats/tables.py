"""Parquet and Arrow files, measured and validated before anything is taken from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlassay.errors import DatasetError
from rlassay.formats.assemble import refuse_image
from rlassay.formats.footers import stored_sizes
from rlassay.formats.guards import Budget, plain_file, refusing

PART_ROWS = 16_384  # of a table that is read in parts
WIDEST_ROW = 1_000_000  # numbers in one row of one column


class ParquetColumns:
    """The columns of one or several Parquet files with the same schema; members of structs are `outer.inner`."""

    kind = "parquet"

    def __init__(self, files: list[Path], budget: Budget):
        self._files, self._budget = files, budget
        found = []
        for path in files:
            with refusing(path, "Parquet"), pq.ParquetFile(plain_file(path)) as file:
                found.append(_plain_names(file.schema_arrow))
        if any(names != found[0] for names in found):
            raise DatasetError(f"the files of {files[0].parent} differ in their columns")
        self._names = found[0]

    def __enter__(self) -> ParquetColumns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def names(self) -> list[str]:
        return list(self._names)

    def read(self, name: str) -> np.ndarray | None:
        if name not in self._names:
            return None
        outer, _, inner = ("", "", "") if self._names[name] == name else name.partition(".")
        tables = [read_parquet(file, [outer or name], self._budget) for file in self._files]
        if inner:
            tables = [
                pa.table({name: table.column(outer).combine_chunks().field(inner)})
                for table in tables
            ]
        return table_column(tables, name)


def _plain_names(schema: pa.Schema) -> dict[str, str]:
    """Name -> the column it lies in."""
    found = {}
    for field in schema:
        if pa.types.is_struct(field.type):
            found |= {f"{field.name}.{part.name}": field.name for part in field.type}
        else:
            found[field.name] = field.name
    return found


def table_column(tables: list[pa.Table], name: str) -> np.ndarray:
    """A column of numbers, or of text, over several tables."""
    kind = tables[0].schema.field(name).type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        parts = [table.column(name).to_pylist() for table in tables]
        return np.array([str(value) for part in parts for value in part])
    parts = [numbers(table, name) for table in tables]
    if len({part.shape[1:] for part in parts}) > 1:
        raise DatasetError(f"the column {name} differs in width between the files")
    return np.concatenate(parts)


def read_parquet(path: Path, columns: list[str], budget: Budget) -> pa.Table:
    """The named columns of a Parquet file, those that it has."""
    with refusing(path, "Parquet"), pq.ParquetFile(plain_file(path), memory_map=False) as file:
        present = _present(file, columns)
        budget.take(_bytes_of(path, file, present), str(path))
        table = file.read(columns=present, use_threads=False)
        table.validate(full=True)
        return table


def parquet_parts(path: Path, columns: list[str]) -> Iterator[pa.Table]:
    """The same, some rows at a time, for what does not fit into memory."""
    with refusing(path, "Parquet"), pq.ParquetFile(plain_file(path), memory_map=False) as file:
        present = _present(file, columns)
        for batch in file.iter_batches(PART_ROWS, columns=present, use_threads=False):
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])


def parquet_bytes(path: Path, columns: list[str]) -> int:
    """What the named columns of a file take in memory."""
    with refusing(path, "Parquet"), pq.ParquetFile(plain_file(path), memory_map=False) as file:
        return _bytes_of(path, file, _present(file, columns))


def _present(file: pq.ParquetFile, columns: list[str]) -> list[str]:
    return [name for name in columns if name in file.schema_arrow.names]


def _bytes_of(path: Path, file: pq.ParquetFile, present: list[str]) -> int:
    """The larger of what the schema claims and what the footer says is stored."""
    claimed = sum(_row_bytes(file.schema_arrow.field(name)) for name in present)
    sizes = stored_sizes(path).items()
    stored = sum(size for name, size in sizes if _outer(name, set(present)))
    return max(claimed * file.metadata.num_rows, stored)


def _outer(path: str, names: set[str]) -> bool:
    """The parts of a nested column lie below its name; names may hold dots themselves."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _row_bytes(field: pa.Field) -> int:
    kind = field.type
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size * 8
    return 8


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers or of equally long lists of numbers, as an array of rows."""
    column = table.column(name).combine_chunks()
    array = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    if array.null_count:
        raise DatasetError(
            f"the column {name} has {array.null_count:,} empty entries",
            remedy="fill or drop the rows",
        )
    width: list[int] = []
    while (
        pa.types.is_list(array.type)
        or pa.types.is_large_list(array.type)
        or pa.types.is_fixed_size_list(array.type)
    ):
        width.append(_list_width(array, name))
        array = array.flatten()
        if array.null_count:
            raise DatasetError(f"the column {name} has empty entries inside its lists")
    if not (
        pa.types.is_floating(array.type)
        or pa.types.is_integer(array.type)
        or pa.types.is_boolean(array.type)
    ):
        raise DatasetError(
            f"the column {name} has the type {table.schema.field(name).type}",
            allowed="numbers or lists of numbers",
        )
    if len(width) > 1:
        raise refuse_image(name, width)
    flat = array.to_numpy(zero_copy_only=False)
    return flat.reshape(-1, width[0]) if width else flat


def _list_width(array: pa.Array, name: str) -> int:
    if pa.types.is_fixed_size_list(array.type):
        return array.type.list_size
    lengths = np.diff(array.offsets.to_numpy())
    if len(lengths) == 0 or lengths.min() != lengths.max() or not 0 < lengths[0] <= WIDEST_ROW:
        raise DatasetError(
            f"the lists of the column {name} differ in length",
            allowed="one vector of fixed length a row",
            remedy="ragged observations cannot be scored; pad or encode them first",
        )
    return int(lengths[0])


def validate_arrow(path: Path, budget: Budget) -> list[int]:
    """Check every batch of an Arrow file, so that no offset points outside it; the rows of each batch."""
    size = plain_file(path).stat().st_size
    budget.take(4 * size, str(path))
    with pa.OSFile(str(path), "rb") as source:
        reader = pa.ipc.open_file(source)
        rows = []
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            batch.validate(full=True)
            rows.append(batch.num_rows)
    return rows


def validate_parquet(path: Path, budget: Budget) -> list[int]:
    """Check a Parquet file in the same way; one entry, its rows."""
    with pq.ParquetFile(plain_file(path), memory_map=False) as file:
        budget.take(sum(stored_sizes(path).values()), str(path))
        return [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
