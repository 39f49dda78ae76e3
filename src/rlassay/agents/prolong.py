"""Whether a checkpoint belongs to the run that is asked for, or to a shorter one that may go on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rlassay.agents.agent import AgentKind, TrainSettings
from rlassay.agents.rhythm import Rhythm
from rlassay.errors import SettingsError
from rlassay.kernel.checkpoint import Checkpoint, identity

REMEDY = "name another folder with -o, or delete that one"


class Asked(NamedTuple):
    """The run that is asked for."""

    kind: AgentKind
    settings: TrainSettings
    rhythm: Rhythm
    description: dict[str, Any]  # everything its numbers depend on


def refuse_other_run(folder: Path, saved: Checkpoint, asked: Asked) -> None:
    """Refuse a folder with another run; one that differs in `updates` alone goes on where that changes nothing."""
    if saved.key == identity(asked.description):
        return
    planned = saved.record.get("planned", saved.record["updates"])  # 0.1 kept no plan
    settings = {**asked.description["settings"], "updates": planned}
    if saved.key != identity({**asked.description, "settings": settings}):
        raise SettingsError(
            f"{folder} holds a run with other settings, data or seed", remedy=REMEDY
        )
    if reason := _why_not(saved.record, planned, asked):
        raise SettingsError(
            f"{folder} holds this run with {planned:,} updates, and it cannot go on to"
            f" {asked.settings.updates:,}: {reason}",
            remedy=REMEDY,
        )


def _why_not(record: Mapping[str, Any], planned: int, asked: Asked) -> str | None:
    """What keeps the continued run from being the same as one that was asked for at once."""
    settings, rhythm = asked.settings, asked.rhythm
    if settings.updates < planned:
        return "it was asked for more"
    if asked.kind.schedule is not None:
        return f"{asked.kind.schedule} depends on the number of updates"
    if record["diverged_at"] is not None:
        return "it diverged"
    if not rhythm.is_border(record["updates"]):
        return f"it ended between two evaluations, and at no multiple of {rhythm.chunk:,} after one"
    evaluated = [
        (update, len(returns))
        for update, returns, *_ in record["curve"]
        if returns and rhythm.is_evaluation(update)
    ]
    if any(episodes_at(settings, update) != count for update, count in evaluated):
        return "its last evaluations have other numbers of episodes"
    return None


def episodes_at(settings: TrainSettings, update: int) -> int:
    """How many episodes an evaluation has: those that make the run's score may have more."""
    left = math.ceil((settings.updates - update) / settings.eval_every)
    final = left < settings.final_evaluations
    return (final and settings.final_eval_episodes) or settings.eval_episodes
