"""What a bug report has to say about a machine, read from the packages' metadata so that nothing heavy is imported."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from rlassay import __version__

SHOWN = ("jax", "jaxlib", "numpy", "h5py", "minari", "gymnasium", "mujoco")


def version_lines() -> list[str]:
    """`rlassay 0.2.0`, then one line each for the interpreter, the libraries and the system."""
    lines = [f"rlassay {__version__}", f"python {platform.python_version()}"]
    return [*lines, *(f"{name} {_version(name)}" for name in SHOWN), platform.platform()]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
