"""Where a training's numbers go beside JSON and CSV: TensorBoard event files, Weights & Biases."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rlassay.errors import SettingsError


class Tracker(Protocol):
    """Receives numbers by update count."""

    def log(self, update: int, numbers: Mapping[str, float]) -> None: ...
    def close(self) -> None: ...


class TensorBoard:
    """Event files in the run's folder; needs the `tensorboard` extra, no TensorFlow."""

    def __init__(self, folder: Path, run: Mapping[str, Any]):
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise _missing("tensorboard") from None
        self._event = getattr(event_pb2, "Event")  # noqa: B009 (protobuf makes these at run time)
        self._summary = getattr(summary_pb2, "Summary")  # noqa: B009
        self._writer = EventFileWriter(str(folder / "tensorboard"))

    def log(self, update: int, numbers: Mapping[str, float]) -> None:
        values = [self._summary.Value(tag=k, simple_value=v) for k, v in numbers.items()]
        summary = self._summary(value=values)
        self._writer.add_event(self._event(wall_time=time.time(), step=update, summary=summary))

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A W&B run; without an account set WANDB_MODE=offline, the files then stay in the run's folder."""

    def __init__(self, folder: Path, run: Mapping[str, Any]):
        try:
            import wandb
        except ImportError:
            raise _missing("wandb") from None
        name = f"{run['agent']}-{run['env_id'] or 'held-out'}-seed{run['seed']}"
        self._run = wandb.init(project="rlassay", name=name, dir=str(folder), config=dict(run))

    def log(self, update: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=update)

    def close(self) -> None:
        self._run.finish()


TRACKERS = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases}


def open_trackers(names: Sequence[str], folder: Path, run: Mapping[str, Any]) -> list[Tracker]:
    """The named trackers, ready to log."""
    for name in names:
        if name not in TRACKERS:
            raise SettingsError("unknown tracker", allowed=list(TRACKERS), got=name)
    return [TRACKERS[name](folder, run) for name in names]


def _missing(extra: str) -> SettingsError:
    return SettingsError(
        f"logging to {extra} needs its extra",
        remedy=f"install it with `pip install 'rl-assay[{extra}]'`",
    )
