"""Checkpoints of a training: the state's leaves and what is known so far, in one file replaced atomically."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rlassay.engine.files import read_or_set_aside, write_atomically
from rlassay.errors import SettingsError


def identity(description: dict[str, Any]) -> str:
    """A short name of everything the numbers of a run depend on."""
    text = json.dumps(description, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_checkpoint(path: Path, key: str, state: Any, record: dict[str, Any]) -> None:
    """Write state and record under the run's identity."""
    leaves: dict[str, Any] = {
        f"leaf{k}": np.asarray(x) for k, x in enumerate(jax.tree.leaves(state))
    }
    note = json.dumps({"key": key, "record": record}, allow_nan=False).encode()
    buffer = io.BytesIO()
    np.savez(buffer, note=np.frombuffer(note, np.uint8), **leaves)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(path: Path, key: str, template: Any) -> tuple[Any, dict[str, Any]] | None:
    """State and record of the same run, None without a readable file; another run's file is refused."""
    return read_or_set_aside(path, lambda path: _read(path, key, template))


def _read(path: Path, key: str, template: Any) -> tuple[Any, dict[str, Any]]:
    with np.load(path, allow_pickle=False) as archive:
        note = json.loads(archive["note"].tobytes())
        if note["key"] != key:
            raise SettingsError(
                f"{path.parent} holds a run with other settings, data or seed",
                remedy="name another folder with -o, or delete that one",
            )
        leaves = [jnp.asarray(archive[f"leaf{k}"]) for k in range(len(archive.files) - 1)]
    return jax.tree.unflatten(jax.tree.structure(template), leaves), note["record"]
