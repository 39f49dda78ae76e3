"""Where a result comes from: the commit of the source it was computed with, and the data."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlassay.data.dataset import Dataset

PACKAGE = Path(__file__).parent


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


def software() -> dict[str, Any]:
    """Versions and compute threads."""
    import numpy

    import rlassay
    from rlassay.runtime import available_cores

    single = "xla_cpu_multi_thread_eigen=false" in os.environ.get("XLA_FLAGS", "")
    return {
        "rlassay": rlassay.__version__,
        "python": platform.python_version(),
        "jax": version("jax"),
        "numpy": numpy.__version__,
        "threads": 1 if single else available_cores(),
    }


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
