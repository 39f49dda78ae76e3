"""Which format a path holds, told by its content and never by its name."""

from __future__ import annotations

from pathlib import Path

from rlassay.errors import DatasetError
from rlassay.formats import npy, unity
from rlassay.formats.containers import container_kind, table_files
from rlassay.formats.guards import Budget, plain_file, refusing
from rlassay.formats.mapping import unknown_columns
from rlassay.formats.recipes import foreign

READABLE = (
    "D4RL, d3rlpy and robomimic HDF5, .npz, folders of .npy, OGBench, Minari, LeRobot, imitation, "
    "Stable-Baselines, RLlib, Unity demonstrations, tables (Parquet, CSV, JSON lines)"
)
ARROW_STREAM = b"\xff\xff\xff\xff"
TRAJECTORY = {"obs", "acts", "terminal"}  # one row a trajectory: imitation's tables


def format_of(path: Path) -> str:
    """The name of the reader for this path."""
    if path.is_dir():
        return _format_of_folder(path)
    kind = container_kind(path)
    if kind == "npz":
        return _format_of_archive(path)
    if kind == "hdf5":
        return _format_of_hdf5(path)
    if kind is not None:
        return _format_of_table(path, kind)
    with refusing(path, "a dataset"), open(plain_file(path), "rb") as file:
        head = file.read(64)
    if head.startswith(ARROW_STREAM) and path.suffix == ".arrow":
        return "imitation"
    if unity.recognises(path, head):
        return "unity"
    raise _unknown(path, head)


def _format_of_folder(path: Path) -> str:
    from rlassay.formats import lerobot, minari_format

    if minari_format.data_folder(path) is not None:
        return "minari"
    if lerobot.recognises(path):
        return "lerobot"
    from rlassay.formats.imitation import arrow_files

    if next(path.glob("*.npy"), None) is not None:
        return "npy"
    if arrow_files(path):
        return "imitation"
    if table_files(path):
        return _format_of_table(path, container_kind(path))
    inside = sorted(item.name for item in path.iterdir())[:8]
    raise DatasetError(
        f"{path} is not a dataset folder",
        allowed="Minari (data/metadata.json), LeRobot (meta/info.json), .npy files, tables",
        got=", ".join(inside) or "an empty folder",
        remedy="name a dataset in it" if inside else None,
    )


def _format_of_archive(path: Path) -> str:
    """OGBench's files hold simulator states and no rewards; without either mark the two layouts look alike."""
    from rlassay.formats import imitation, ogbench, stable_baselines
    from rlassay.formats.mapping import guessed_map
    from rlassay.formats.npz import holds_columns

    with npy.Archive(path, Budget(path)) as archive:
        names = set(archive.names())
    if names >= imitation.ARCHIVE:
        return "imitation"
    if names >= set(stable_baselines.REQUIRED):
        return "stable-baselines"
    if not holds_columns(names) and guessed_map(names):
        raise unknown_columns(path, sorted(names))
    undecided = names >= set(ogbench.REQUIRED) and not names & {
        "rewards",
        "timeouts",
        "next_observations",
    }
    if not undecided:
        return "npz"
    if names & set(ogbench.SIMULATOR_STATE):
        return "ogbench"
    raise DatasetError(
        f"{path} may be a plain archive without rewards or an OGBench file",
        remedy="say which with --format npz or --format ogbench",
    )


def _format_of_table(path: Path, kind: str | None) -> str:
    """A table of steps, or of trajectories as imitation writes them."""
    if kind == "parquet":
        from rlassay.formats.tables import ParquetColumns

        if set(ParquetColumns(table_files(path)[:1], Budget(path)).names()) >= TRAJECTORY:
            return "imitation"
    return "table"


def _format_of_hdf5(path: Path) -> str:
    from rlassay.formats import d3rlpy_format, d4rl, hdf5, robomimic

    readers = {
        "d3rlpy-v2": d3rlpy_format.recognises_v2,
        "robomimic": robomimic.recognises,
        "d3rlpy-v1": d3rlpy_format.recognises_v1,
        "d4rl": d4rl.recognises,
    }
    with hdf5.opened(path) as file:
        for name, recognises in readers.items():
            if recognises(file):
                return name
        members = hdf5.names(file)[:8]
        columns = [name for name, _, _, item in hdf5.leaves(file) if item.shape not in ((), None)]
    if "episode_0" in members or not columns:
        raise DatasetError(
            f"{path} is HDF5 of an unknown layout",
            allowed="D4RL, d3rlpy, robomimic",
            got=", ".join(members) or "an empty file",
            remedy="name the dataset's folder, not its main_data.hdf5" if columns else None,
        )
    raise unknown_columns(path, columns)


def _unknown(path: Path, head: bytes) -> DatasetError:
    if not head:
        return DatasetError(
            f"{path} is of no known format", allowed=READABLE, remedy="the file is empty"
        )
    what, remedy = foreign(path, head)
    if what is not None:
        return DatasetError(what, remedy=remedy)
    return DatasetError(f"{path} is of no known format", allowed=READABLE, remedy=remedy)
