"""The bundled samples: small graded datasets of one task, for a first look and for tests."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_GRADES = ("random", "medium", "expert")  # worst first


def paths() -> list[Path]:
    """Files of the bundled datasets, worst first; other names follow in alphabetical order."""
    folder = Path(str(files(__name__)))
    found = [path for path in folder.iterdir() if path.suffix in (".hdf5", ".npz")]
    return sorted(found, key=lambda path: (_grade(path.stem), path.name))


def _grade(name: str) -> int:
    return next((k for k, grade in enumerate(_GRADES) if grade in name), len(_GRADES))
