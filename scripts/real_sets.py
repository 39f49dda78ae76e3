"""What the scripts that bring other projects' files into one shape share: the walk over the files, and the command line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import rlassay
from rlassay.data.dataset import Dataset

Prepared = tuple[Dataset, dict]  # the data as it is written, and what was found in the file


def write_sets(
    root: Path,
    out: Path,
    places: Mapping[str, tuple[str, str]],
    prepared: Callable[[str, Path], Prepared],
) -> list[dict]:
    """Write every set, which lies in a repository at a path, as OUT/NAME.npz; returns what was found in each."""
    out.mkdir(parents=True, exist_ok=True)
    commits = json.loads((root / "MANIFEST.json").read_text())
    told = []
    for name, (repository, path) in places.items():
        data, found = prepared(name, root / repository.replace("/", "+") / path)
        rlassay.save(data, out / f"{name}.npz")
        about = {"name": name, "repository": repository, "path": path}
        told.append({**about, **found, "commit": commits[repository]})
    (out / "SETS.json").write_text(json.dumps(told, indent=1) + "\n")
    return told


def run_from_command_line(doc: str, prepare: Callable[[Path, Path], list[dict]]) -> None:
    """`--root DIR --out OUT`, and a line a set."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="where the files are")
    parser.add_argument("--out", type=Path, required=True, help="folder for the prepared files")
    options = parser.parse_args()
    for told in prepare(options.root, options.out):
        print(json.dumps(told))
