"""Checkpoints of everything that learns, and the one order in which a run writes.

A checkpoint is one file, replaced atomically: the leaves of the state, a note in JSON, and a copy of every output that
belongs to it. `commit` writes the outputs first and the checkpoint last; whoever continues calls `restore_outputs`, which
writes again what is missing or was written by a later moment that is lost. So a run that was stopped anywhere ends with
the files of one that was not.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlassay.engine.files import write_atomically
from rlassay.errors import DatasetError

FILE = "state.npz"
NOTE, OLD_NOTE = "note", "counters"  # the second in TD3 runs of version 0.1
LEAF, OUTPUT = "leaf", "output/"
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


class Checkpoint(NamedTuple):
    """What a checkpoint holds; `outputs` is empty in those of version 0.1."""

    key: str | None  # the run's identity
    leaves: list[np.ndarray]
    record: dict[str, Any]
    outputs: dict[str, bytes]

    def state(self, template: Any) -> Any:
        """The leaves in the template's structure."""
        import jax
        import jax.numpy as jnp

        leaves = [jnp.asarray(leaf) for leaf in self.leaves]
        return jax.tree.unflatten(jax.tree.structure(template), leaves)


def identity(description: Mapping[str, Any]) -> str:
    """A short name of everything the numbers of a run depend on."""
    text = json.dumps(description, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def commit(
    folder: Path, key: str, state: Any, record: Mapping[str, Any], outputs: Mapping[str, bytes]
) -> None:
    """Write the outputs, then the checkpoint that counts them."""
    import jax

    for name, content in outputs.items():
        write_atomically(folder / name, content)
    leaves = {f"{LEAF}{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    copies = {f"{OUTPUT}{name}": _as_bytes(content) for name, content in outputs.items()}
    note = json.dumps({"key": key, "record": record}, allow_nan=False).encode()
    buffer = io.BytesIO()
    np.savez(buffer, **{NOTE: _as_bytes(note)}, **leaves, **copies)  # pyright: ignore[reportArgumentType]
    write_atomically(folder / FILE, buffer.getvalue())


def load(folder: Path) -> Checkpoint | None:
    """The checkpoint of a run's folder; None where there is none. A damaged one is set aside, and said so."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            return _read(archive)
    except OSError as error:
        raise DatasetError(
            f"cannot read {path} ({error.strerror or error})", remedy="check its permissions"
        ) from None
    except UNREADABLE:
        aside = path.with_name(f"{FILE}.damaged")
        path.replace(aside)
        logging.getLogger("rlassay").warning(
            "%s is damaged; it was set aside as %s, and the run begins anew", path, aside.name
        )
        return None


def restore_outputs(folder: Path, outputs: Mapping[str, bytes]) -> list[str]:
    """Write again what is missing or differs; returns the names."""
    stale = [name for name, content in outputs.items() if _content(folder / name) != content]
    for name in stale:
        write_atomically(folder / name, outputs[name])
    return stale


def _read(archive: Any) -> Checkpoint:
    names = archive.files
    if NOTE in names:
        note = json.loads(archive[NOTE].tobytes())
    else:
        note = {"key": None, "record": json.loads(archive[OLD_NOTE].tobytes())}
    count = sum(name.startswith(LEAF) for name in names)
    outputs = {
        name.removeprefix(OUTPUT): archive[name].tobytes()
        for name in names
        if name.startswith(OUTPUT)
    }
    leaves = [archive[f"{LEAF}{k}"] for k in range(count)]
    return Checkpoint(note["key"], leaves, note["record"], outputs)


def _as_bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
