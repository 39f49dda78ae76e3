"""Checkpoints of a TD3 run: one state file, replaced atomically after the replay rows are on disk."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from rlassay.engine.files import write_atomically

if TYPE_CHECKING:
    from rlassay.collect.td3 import Trainer

STATE_FILE = "state.npz"


def save_checkpoint(trainer: Trainer) -> None:
    """Replay rows first, then the state that counts them: a kill in between costs nothing."""
    trainer.replay.flush()
    counters = {
        "step": trainer.step_count,
        "episode": trainer.episode,
        "pending": int(trainer.pending),
        "rows": trainer.replay.count,
        "info": trainer.info,
        "curve": [list(point) for point in trainer.curve],
    }
    leaves: dict[str, Any] = {
        f"leaf{k}": np.asarray(v) for k, v in enumerate(jax.tree.leaves(trainer.state))
    }
    buffer = io.BytesIO()
    np.savez(buffer, counters=np.frombuffer(json.dumps(counters).encode(), np.uint8), **leaves)
    write_atomically(trainer.folder / STATE_FILE, buffer.getvalue())
    write_curve(trainer)


def saved_step(folder: Path) -> int:
    """The step of a run's last checkpoint, 0 where there is none."""
    path = folder / STATE_FILE
    if not path.exists():
        return 0
    with np.load(path, allow_pickle=False) as archive:
        return json.loads(archive["counters"].tobytes())["step"]


def load_checkpoint(trainer: Trainer) -> None:
    """Continue where the last state file stands; without one, start anew."""
    from rlassay.collect.td3 import Progress

    path = trainer.folder / STATE_FILE
    if not path.exists():
        return
    with np.load(path, allow_pickle=False) as archive:
        counters = json.loads(archive["counters"].tobytes())
        leaves = [jnp.asarray(archive[f"leaf{k}"]) for k in range(len(archive.files) - 1)]
    trainer.state = jax.tree.unflatten(jax.tree.structure(trainer.state), leaves)
    trainer.step_count, trainer.episode = counters["step"], counters["episode"]
    trainer.pending = counters["pending"]
    trainer.info = counters["info"]
    trainer.curve = [Progress(*point) for point in counters["curve"]]
    trainer.replay.restore(counters["rows"])


def write_curve(trainer: Trainer) -> None:
    """The learning curve as CSV, one row an evaluation."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", "mean_return", "returns", "critic_loss", "target"])
    for point in trainer.curve:
        returns = " ".join(str(value) for value in point.returns)
        mean = round(float(np.mean(point.returns)), 3)
        writer.writerow(
            [point.step, mean, returns, round(point.critic_loss, 4), round(point.target, 4)]
        )
    write_atomically(trainer.folder / "curve.csv", text.getvalue())
