"""JSON lines: one object a line, either one step, or a batch of columns as RLlib writes it.

Objects inside a step become columns `outer.inner`; a part that is absent from some rows is 0 there, as in the sparse
feature maps that recommender logs use, and the reader says how many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.dataset import Note
from rlassay.errors import DatasetError
from rlassay.formats.guards import Budget, refusing, unpacked

LINE_LIMIT = 256 * 2**20  # bytes of one line
BLOCK = 4_096  # rows that are turned into arrays at once
PACKED = "BCJN"  # base64 of the first bytes of an LZ4 frame
UNPACK = (
    'python -c "import base64,json,pickle,sys,lz4.frame as z; f=lambda v: pickle.loads(z.decompress(base64.b64decode(v)))'
    ".tolist() if isinstance(v,str) and v[:4]=='BCJN' else v; [print(json.dumps({k:f(v) for k,v in json.loads(line).items()}))"
    ' for line in sys.stdin]" < %s > plain.json'
)


class JsonColumns:
    """The columns of one or several files of JSON lines."""

    kind = "json"

    def __init__(self, files: list[Path], budget: Budget):
        self.notes: list[Note] = []
        self._budget = budget
        self._blocks: dict[str, list[np.ndarray | None]] = {}
        self._rows = 0
        self._absent: dict[str, int] = {}
        self._partial: set[str] = set()  # columns that some rows have and others lack
        for file in files:
            with refusing(file, "JSON lines"):
                self._read(file)
        if any(self._absent.values()):
            total = sum(self._absent.values())
            self.notes.append(
                Note(
                    "sparse_filled",
                    f"{total:,} entries absent from {', '.join(sorted(self._absent)[:8])} are read as 0",
                    "write every entry where absence means something else",
                )
            )

        if self._partial:
            named = ", ".join(sorted(self._partial)[:8])
            self.notes.append(
                Note(
                    "partial_columns",
                    f"some rows lack {named}, and the whole column is left out",
                    "complete or drop these rows",
                )
            )

    def __enter__(self) -> JsonColumns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def names(self) -> list[str]:
        return [name for name, blocks in self._blocks.items() if all(b is not None for b in blocks)]

    def read(self, name: str) -> np.ndarray | None:
        if name not in self.names():
            return None
        blocks = [block for block in self._blocks[name] if block is not None]
        if len({block.shape[1:] for block in blocks}) > 1:
            raise DatasetError(
                f"the entries of {name} differ in length", allowed="one vector of fixed length"
            )
        return np.concatenate(blocks)

    def _read(self, file: Path) -> None:
        pending: list[dict[str, Any]] = []
        for number, record in _records(file):
            if record.get("type") in ("SampleBatch", "MultiAgentBatch") or _packed(record):
                self._add(_batch(record, file, number))
                continue
            pending.append(record)
            if len(pending) == BLOCK:
                self._add(self._columns(pending))
                pending = []
        if pending:
            self._add(self._columns(pending))

    def _columns(self, records: list[dict[str, Any]]) -> dict[str, list[Any]]:
        rows = [dict(_flat("", record)) for record in records]
        names = dict.fromkeys(name for row in rows for name in row)
        found = {}
        for name in names:
            values = [row.get(name) for row in rows]
            gaps = sum(value is None for value in values)
            if gaps and "." in name:
                self._absent[name] = self._absent.get(name, 0) + gaps
                values = [0 if value is None else value for value in values]
            elif 0 < gaps < len(values):
                self._partial.add(name)
            found[name] = values
        return found

    def _add(self, columns: dict[str, list[Any]]) -> None:
        rows = len(next(iter(columns.values()), []))
        for name in columns:
            if name not in self._blocks:
                self._blocks[name] = self._earlier(name)
        for name, blocks in self._blocks.items():
            values = columns.get(name)
            if values is None and "." in name:
                values = [0] * rows
                self._absent[name] = self._absent.get(name, 0) + rows
            elif values is None and any(block is not None for block in blocks):
                self._partial.add(name)
            array = _array(values, rows)
            if array is not None:
                self._budget.take(array.nbytes, name)
            blocks.append(array)
        self._rows += rows

    def _earlier(self, name: str) -> list[np.ndarray | None]:
        """What stands for a column in the rows before it was first met."""
        if not self._rows:
            return []
        if "." not in name:
            return [None]
        self._absent[name] = self._absent.get(name, 0) + self._rows
        return [np.zeros(self._rows)]


def _array(values: list[Any] | None, rows: int) -> np.ndarray | None:
    """Numbers, flags or text of a block; None for what is neither, which is noticed when it is asked for."""
    if values is None or len(values) != rows or any(value is None for value in values):
        return None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError, TypeError):
        return None
    mixed = isinstance(values[0], str) != (array.dtype.kind == "U")
    return array if array.dtype.kind in "fiubU" and len(array) == rows and not mixed else None


def _flat(prefix: str, record: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth < 4:
            yield from _flat(f"{name}.", value, depth + 1)
        else:
            yield name, value


def _batch(record: dict[str, Any], file: Path, number: int) -> dict[str, list[Any]]:
    """The columns of RLlib's SampleBatch; packed ones and several agents are refused."""
    if _packed(record):
        raise DatasetError(
            f"{file} packs its observations with LZ4 and pickle, which can run code and is never loaded",
            remedy=f"if you trust the file, unpack it with `pip install lz4` and: {UNPACK % file}",
        )
    if record.get("type") == "MultiAgentBatch":
        raise DatasetError(
            f"{file} holds batches of several agents", allowed="SampleBatch, one agent a file"
        )
    columns = {key: value for key, value in record.items() if isinstance(value, list)}
    if len({len(values) for values in columns.values()}) != 1:
        raise DatasetError(f"the columns in line {number} of {file} differ in length")
    return columns


def _packed(record: dict[str, Any]) -> bool:
    return any(
        isinstance(v, str) and v.startswith(PACKED) and len(v) > 100 for v in record.values()
    )


def _records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with unpacked(file) as stream:
        number = 0
        while line := stream.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) > LINE_LIMIT:
                raise DatasetError(f"line {number} of {file} is too long", allowed=LINE_LIMIT)
            if not line.strip():
                continue
            record = json.loads(line, object_pairs_hook=_once)
            if not isinstance(record, dict):
                raise DatasetError(
                    f"line {number} of {file} is no JSON object", got=type(record).__name__
                )
            yield number, record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DatasetError("a JSON object names one key twice", got=[key for key, _ in pairs][:20])
    return found
