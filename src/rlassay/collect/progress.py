"""Where an online run stands: its checkpoint, counted after the replay rows and the learning curve are on disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rlassay.collect.sources import CURVE
from rlassay.kernel import checkpoint

if TYPE_CHECKING:
    from rlassay.collect.online import OnlineTrainer

KEY = "td3"  # of every learner: the folder's name says which run it is
COLUMNS = ("step", "mean_return", "returns", "critic_loss", "target")


class Progress(NamedTuple):
    """One point of the learning curve."""

    step: int
    returns: list[float]
    critic_loss: float
    target: float


def save(trainer: OnlineTrainer) -> None:
    """Replay rows and curve first, then the state that counts them: a kill in between costs nothing."""
    trainer.replay.flush()
    record = {
        "step": trainer.step_count,
        "episode": trainer.episode,
        "pending": int(trainer.pending),
        "rows": trainer.replay.count,
        "info": trainer.info,
        "curve": [list(point) for point in trainer.curve],
    }
    outputs = {CURVE: curve_text(record["curve"]).encode()}
    checkpoint.commit(trainer.folder, KEY, trainer.state, record, outputs)


def resume(trainer: OnlineTrainer) -> None:
    """Continue where the last checkpoint stands; without one, start anew."""
    saved = checkpoint.load(trainer.folder)
    if saved is None:
        return
    record = saved.record
    trainer.state = saved.state(trainer.state)
    trainer.step_count, trainer.episode = record["step"], record["episode"]
    trainer.pending, trainer.info = record["pending"], record["info"]
    trainer.curve = [Progress(*point) for point in record["curve"]]
    trainer.replay.restore(record["rows"])
    restore_curve(trainer.folder, saved)


def settled_step(folder: Path) -> int:
    """The step of a run's last checkpoint, 0 where there is none; the curve beside it is then the checkpoint's."""
    saved = checkpoint.load(folder)
    if saved is None:
        return 0
    restore_curve(folder, saved)
    return saved.record["step"]


def restore_curve(folder: Path, saved: checkpoint.Checkpoint) -> None:
    """The learning curve as the checkpoint knows it, whatever a killed run left."""
    text = curve_text(saved.record["curve"])
    checkpoint.restore_outputs(folder, {CURVE: text.encode()})


def curve_text(points: Sequence[Sequence[Any]]) -> str:
    """The learning curve as CSV, one row an evaluation."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for step, returns, critic_loss, target in points:
        shown, mean = " ".join(str(value) for value in returns), round(float(np.mean(returns)), 3)
        writer.writerow([step, mean, shown, round(critic_loss, 4), round(target, 4)])
    return text.getvalue()
