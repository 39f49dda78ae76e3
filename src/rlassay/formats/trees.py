"""Many datasets at once: what paths, patterns and folders name, each dataset once, with a name for its card."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlassay.errors import DatasetError
from rlassay.formats import hub

FILES = (
    ".hdf5",
    ".h5",
    ".npz",
)  # what a folder of datasets is searched for, beside dataset folders


@dataclass(frozen=True)
class Found:
    """A dataset: what `load` takes, and a relative path that no other dataset of the list has."""

    source: str
    name: str

    def identity(self) -> dict[str, Any]:
        """What tells whether the data changed without reading it: names, sizes and times of its files."""
        path = Path(self.source)
        files = sorted(_files(path)) if path.is_dir() else [path]
        digest = hashlib.sha256()
        for file in files:
            try:
                status = file.stat()
            except OSError:  # gone, or the name of a hub's dataset: `load` says what is wrong
                continue
            known = (str(file.relative_to(path)), status.st_size, status.st_mtime_ns)
            digest.update(repr(known).encode(errors="backslashreplace"))
        return {"path": self.source, "files": digest.hexdigest()}

    def size(self) -> int:
        """Bytes on disk; 0 for what is no path."""
        path = Path(self.source)
        files = _files(path) if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())


def find_datasets(paths: Sequence[str]) -> list[Found]:
    """The datasets that these paths, patterns, folders of datasets and ids name, in that order."""
    found: dict[str, str] = {}  # source -> name
    for given in paths:
        for source, name in _named_by(given):
            found.setdefault(source, name)
    taken: dict[str, int] = {}
    for name in found.values():
        taken[name] = taken.get(name, 0) + 1
    return [
        Found(source, name if taken[name] == 1 else _apart(name, source))
        for source, name in found.items()
    ]


def expand_patterns(paths: Sequence[str]) -> list[str]:
    """Paths as given; a pattern that the shell left alone becomes the files that it matches, in order."""
    return list(dict.fromkeys(match for path in paths for match in _matches(path)))


def is_pattern(path: str) -> bool:
    """A pattern that the shell left alone, and not the name of a file that looks like one."""
    return glob.has_magic(path) and not os.path.exists(path) and not hub.is_hub(path)


def _matches(path: str) -> list[str]:
    if not is_pattern(path):
        return [path]
    matches = sorted(glob.glob(os.path.expanduser(path), recursive=True))
    if not matches:
        raise DatasetError(f"no file matches {path}", remedy="check the pattern")
    return matches


def _named_by(given: str) -> Iterator[tuple[str, str]]:
    path = Path(given).expanduser()
    if is_pattern(given):
        root = _fixed_part(given)
        for match in _matches(given):
            dataset = _dataset_around(Path(match).absolute(), root)
            if dataset is not None:
                yield str(dataset), str(dataset.relative_to(root))
    elif not path.exists():
        yield given, re.sub(r"[^\w.@+-]+", "-", given)  # an id: `load` knows whether there is one
    elif path.is_dir() and not _is_dataset_folder(path) and (inside := list(_below(path))):
        root = path.absolute()
        yield from ((str(each), str(each.relative_to(root))) for each in inside)
    else:
        yield str(path.absolute()), path.absolute().name


def _fixed_part(pattern: str) -> Path:
    """The folder before the first part with a wildcard."""
    parts = Path(pattern).expanduser().absolute().parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def _dataset_around(path: Path, root: Path) -> Path | None:
    """A file inside a dataset's folder stands for the folder; a folder without a dataset for nothing."""
    for folder in (path, *path.parents):
        if folder.is_dir() and folder.is_relative_to(root) and _is_dataset_folder(folder):
            return folder
        if folder == root:
            break
    return path if path.is_file() else None


def _is_dataset_folder(path: Path) -> bool:
    """A Minari or LeRobot dataset; a Minari dataset's `data` folder alone is not one."""
    from rlassay.formats import lerobot, minari_format  # with h5py and Arrow, for folders alone

    if path.name == "data" and minari_format.data_folder(path.parent) == path:
        return False
    try:
        return minari_format.data_folder(path) is not None or lerobot.recognises(path)
    except (DatasetError, OSError):  # a metadata.json of something else
        return False


def _below(folder: Path) -> Iterator[Path]:
    """Dataset folders and files below a folder, by name; what lies inside a dataset folder is part of it."""
    for place, folders, files in os.walk(folder.absolute()):
        here = Path(place)
        inner = [here / name for name in sorted(folders) if not name.startswith(".")]
        datasets = [each for each in inner if _is_dataset_folder(each)]
        folders[:] = [each.name for each in inner if each not in datasets]
        yield from datasets
        yield from (here / name for name in sorted(files) if name.lower().endswith(FILES))


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _apart(name: str, source: str) -> str:
    """A name that two sources share, told apart by what does not depend on the others."""
    digest = hashlib.sha256(source.encode(errors="backslashreplace")).hexdigest()[:8]
    path = Path(name)
    return str(path.with_name(f"{path.stem}-{digest}{path.suffix}"))
