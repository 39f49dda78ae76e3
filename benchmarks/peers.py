"""Virtual environments of the peers we measure against, outside the checkout; nothing of theirs is installed here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TORCH = "torch==2.13.0"  # the CPU build; installed first, so that a peer's own range is already met
D3RLPY = "d3rlpy==2.8.1"
HOME = Path(os.environ.get("RLASSAY_BENCH", "~/.cache/rlassay-bench")).expanduser()


def peer_python(name: str, *packages: str) -> Path:
    """The interpreter of the peer environment `name`, built on first use with PyTorch and the packages."""
    folder = HOME / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        print(f"building the environment of {name} in {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for package in (TORCH, *packages):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=True)
        (folder / ".ready").touch()
    return python


def one_thread() -> dict[str, str]:
    """An environment in which NumPy, PyTorch and JAX compute on one thread."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    return {**os.environ, **dict.fromkeys(names, "1")}
