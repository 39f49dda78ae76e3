"""What a bug report has to say about a machine, read from the packages' metadata so that nothing heavy is imported."""

from __future__ import annotations

import platform

from rlassay.results.provenance import software

SHOWN = ("jax", "jaxlib", "numpy", "h5py", "minari", "gymnasium", "mujoco")


def version_lines() -> list[str]:
    """`rlassay 0.2.0`, then one line each for the interpreter, the libraries and the system."""
    found = software(*SHOWN).items()
    return [*(f"{name} {number or 'not installed'}" for name, number in found), platform.platform()]
