"""Where a result comes from: the versions and the commit it was computed with, and the data."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlassay.data.dataset import Dataset

PACKAGE = Path(__file__).parent


def software(*packages: str) -> dict[str, str | None]:
    """Versions of rlassay, of Python and of these packages."""
    from rlassay import __version__

    return {"rlassay": __version__, **versions(*packages)}


def versions(*packages: str) -> dict[str, str | None]:
    """Versions of Python and of these packages, from their metadata: nothing is imported."""
    known: dict[str, str | None] = {"python": platform.python_version()}
    return known | {name: package_version(name) for name in packages}


def package_version(package: str) -> str | None:
    """The version of an installed package; None where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@functools.cache
def source_commit() -> str | None:
    """The commit of the checkout this package runs from, `+changes` behind it where the source differs.

    None for an installed copy, also where that lies inside somebody else's repository: there git does not track it.
    """
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", ".")
    return commit if commit is None or not changed else f"{commit}+changes"


def card_software() -> dict[str, Any]:
    """What a card says of its making: versions and compute threads."""
    from rlassay.runtime import available_cores

    single = "xla_cpu_multi_thread_eigen=false" in os.environ.get("XLA_FLAGS", "")
    return {**software("jax", "numpy"), "threads": 1 if single else available_cores()}


def describe_data(data: Dataset) -> dict[str, Any]:
    """A dataset as it stands in results."""
    return {
        "source": data.origin.source,
        "fingerprint": data.fingerprint,
        "transitions": len(data),
        "episodes": data.episode_count,
    }


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
