"""Trajectories of the `imitation` library: its `.npz`, and its HuggingFace datasets of one row a trajectory.

A trajectory keeps one observation more than actions. `terminal` says whether it ended in a terminal state; otherwise
it was cut. The `infos` are pickled or JSON text and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlassay.data import column_checks as checks
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.formats.assemble import assemble, empty_note, left_out
from rlassay.formats.containers import table_files
from rlassay.formats.guards import Budget, plain_file, refusing
from rlassay.formats.npy import Archive
from rlassay.formats.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "imitation"
ARCHIVE = {"obs", "acts", "terminal", "indices"}
TABLE = ("obs", "acts", "terminal", "rews")


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every trajectory of an archive, or of a folder or file of tables."""
    if path.is_file() and is_archive(path):
        columns, lengths, names = _from_archive(path)
    else:
        columns, lengths, names = _from_tables(path)
    last = np.cumsum(lengths) - 1
    known = np.asarray(lengths) > 0
    ends = np.zeros(len(columns["actions"]), bool)
    ended = checks.flags("terminal", columns.pop("terminal"), len(lengths))[known]
    ends[last[known]] = True
    terminals = np.zeros(len(ends), bool)
    terminals[last[known]] = ended
    return assemble(
        {**columns, "terminals": terminals, "timeouts": ends & ~terminals},
        options,
        source=path,
        format_name=FORMAT,
        notes=[
            *empty_note(np.flatnonzero(~known).tolist()),
            *left_out(set(names) - {*ARCHIVE, *TABLE}, options),
        ],
    )


def is_archive(path: Path) -> bool:
    with open(plain_file(path), "rb") as file:
        return file.read(2) == b"PK"


def _from_archive(path: Path) -> tuple[dict[str, Any], np.ndarray, list[str]]:
    with Archive(path, Budget(path)) as archive:
        found = {
            name: archive.read(name) for name in ("obs", "acts", "terminal", "indices", "rews")
        }
        names = archive.names()
    if any(found[name] is None for name in ("obs", "acts", "terminal", "indices")):
        raise DatasetError(f"{path} lacks columns of imitation's layout", got=names)
    observations = checks.as_array("obs", found["obs"])
    actions = checks.as_array("acts", found["acts"])
    borders = np.concatenate([[0], checks.as_array("indices", found["indices"]), [len(actions)]])
    lengths = np.diff(borders.astype(np.int64))
    if (lengths < 0).any() or len(lengths) != np.asarray(found["terminal"]).size:
        raise DatasetError(f"the indices of {path} are not increasing row numbers")
    if len(observations) != len(actions) + len(lengths):
        raise checks.ShapeError(
            f"{path} has {len(observations):,} observations and {len(actions):,} actions",
            allowed="one observation more than actions in each trajectory",
        )
    keep = np.ones(len(observations), bool)
    keep[np.cumsum(lengths + 1) - 1] = False
    rows = np.flatnonzero(keep)
    columns = {
        "observations": observations[rows],
        "actions": actions,
        "rewards": found["rews"],
        "next_observations": observations[rows + 1],
        "terminal": found["terminal"],
    }
    return columns, lengths, names


def _from_tables(path: Path) -> tuple[dict[str, Any], np.ndarray, list[str]]:
    tables = list(_tables(path, Budget(path)))
    names = tables[0].schema.names if tables else []
    rows = [row for table in tables for row in _trajectories(table)]
    filled = [row for row in rows if len(row["acts"])]
    if not filled:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    rewarded = all(row["rews"] is not None for row in filled)
    columns = {
        "observations": np.concatenate([row["obs"][:-1] for row in filled]),
        "actions": np.concatenate([row["acts"] for row in filled]),
        "rewards": np.concatenate([row["rews"] for row in filled]) if rewarded else None,
        "next_observations": np.concatenate([row["obs"][1:] for row in filled]),
        "terminal": np.array([row["terminal"] for row in rows]),
    }
    return columns, np.array([len(row["acts"]) for row in rows]), names


def _trajectories(table: pa.Table) -> Iterator[dict[str, Any]]:
    for index in range(table.num_rows):
        row = {name: _cell(table, name, index) for name in TABLE if name in table.schema.names}
        row.setdefault("rews", None)
        lengths = {len(row["acts"])} | ({len(row["rews"])} if row["rews"] is not None else set())
        if lengths != {len(row["obs"]) - 1}:
            raise checks.ShapeError(
                f"trajectory {index} has {len(row['obs'])} observations and {sorted(lengths)} steps",
                allowed="one observation more than steps",
            )
        yield row


def _cell(table: pa.Table, name: str, index: int) -> Any:
    value = table.column(name)[index].as_py()
    if name == "terminal":
        return bool(value)
    return checks.as_array(name, value if value is not None else [])


def _tables(path: Path, budget: Budget) -> Iterator[pa.Table]:
    import pyarrow as pa  # not with the module: every .npz is asked whether it is one of these

    from rlassay.formats.tables import read_parquet

    for file in arrow_files(path):
        budget.take(2 * plain_file(file).stat().st_size, str(file))
        with refusing(file, "an Arrow stream"), pa.OSFile(str(file), "rb") as source:
            table = pa.ipc.open_stream(source).read_all()
            table.validate(full=True)
        yield table.select([name for name in TABLE if name in table.schema.names])
    if not arrow_files(path):
        for file in table_files(path):
            yield read_parquet(file, list(TABLE), budget)


def arrow_files(path: Path) -> list[Path]:
    """The parts of a HuggingFace dataset that was saved to disk, splits below it included."""
    if path.is_file():
        return [path] if path.suffix == ".arrow" else []
    found = sorted(path.glob("data-*.arrow")) or sorted(path.glob("*/data-*.arrow"))
    return [file for file in found if file.is_file()]
