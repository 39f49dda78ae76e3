"""Which format a path holds, told by its content and never by its name."""

from __future__ import annotations

from pathlib import Path

from rlassay.errors import DatasetError
from rlassay.formats import npy
from rlassay.formats.guards import Budget, plain_file

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
READABLE = "D4RL, d3rlpy and robomimic HDF5, .npz, folders of .npy, OGBench, Minari and LeRobot"


def format_of(path: Path) -> str:
    """The name of the reader for this path."""
    if path.is_dir():
        return _format_of_folder(path)
    with open(plain_file(path), "rb") as file:
        head = file.read(16)
    if head.startswith(npy.ZIP_SIGNATURES):
        return _format_of_archive(path)
    if head.startswith(HDF5_SIGNATURE) or _late_signature(path):
        return _format_of_hdf5(path)
    raise _unknown(path, head)


def _format_of_folder(path: Path) -> str:
    from rlassay.formats import lerobot, minari_format

    if minari_format.data_folder(path) is not None:
        return "minari"
    if lerobot.recognises(path):
        return "lerobot"
    if next(path.glob("*.npy"), None) is not None:
        return "npy"
    inside = sorted(item.name for item in path.iterdir())[:8]
    raise DatasetError(
        f"{path} is not a dataset folder",
        allowed="Minari (data/metadata.json), LeRobot (meta/info.json), .npy files",
        got=", ".join(inside) or "an empty folder",
        remedy="name a dataset in it" if inside else None,
    )


def _format_of_archive(path: Path) -> str:
    """OGBench's files hold simulator states and no rewards; without either mark the two layouts look alike."""
    from rlassay.formats import ogbench

    with npy.Archive(path, Budget(path)) as archive:
        names = set(archive.names())
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
    hint = "name the dataset's folder, not its main_data.hdf5" if "episode_0" in members else None
    raise DatasetError(
        f"{path} is HDF5 of an unknown layout",
        allowed="D4RL, d3rlpy, robomimic",
        got=", ".join(members) or "an empty file",
        remedy=hint or "store observations, actions, rewards, terminals and timeouts at the root",
    )


def _late_signature(path: Path) -> bool:
    """HDF5 allows a user block of 512, 1024, ... bytes before its signature."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        offset = 512
        while offset < min(size, 2**20):
            file.seek(offset)
            if file.read(8) == HDF5_SIGNATURE:
                return True
            offset *= 2
    return False


def _unknown(path: Path, head: bytes) -> DatasetError:
    remedy = None
    if not head:
        remedy = "the file is empty"
    elif head.startswith(npy.SIGNATURE):
        remedy = "this is one array; name the folder that holds all .npy files"
    elif head.startswith((b"PAR1", b"ARROW1")):
        remedy = "this is one table; name the dataset's folder"
    elif head[:1] == b"\x80":
        remedy = "this looks like a pickle, which can run code and is never loaded; save the arrays as .npz"
    return DatasetError(f"{path} is of no known format", allowed=READABLE, remedy=remedy)
