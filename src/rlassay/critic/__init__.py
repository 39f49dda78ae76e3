"""The behavioural critic: Q and V of whoever made the data, and a diagnosis of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rlassay.critic.diagnosis import Calibration, diagnose, warnings_of
from rlassay.critic.fit import OnProgress, fit_networks, training_columns
from rlassay.critic.model import Critic, Scaling
from rlassay.critic.sample import split_episodes
from rlassay.critic.settings import FAST, PAPER, CriticSettings, refuse_idle_settings
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError

__all__ = [
    "FAST",
    "PAPER",
    "Calibration",
    "Critic",
    "CriticSettings",
    "FittedCritic",
    "Scaling",
    "fit_critic",
    "refuse_idle_settings",
    "warnings_of",
]

REVISION = 1  # raised whenever the numbers of a critic change


@dataclass(frozen=True)
class FittedCritic:
    """A critic with its diagnosis and the points of its calibration plot."""

    critic: Critic
    calibration: Calibration


def fit_critic(
    data: Dataset,
    settings: CriticSettings,
    seeds: Sequence[int] = (0,),
    *,
    scaling: Scaling | None = None,
    on_progress: OnProgress = lambda done, news: None,
) -> FittedCritic:
    """Fit Q and V to the behaviour in `data` and diagnose them on held-out episodes."""
    if data.rewards is None:
        raise DatasetError("a critic needs rewards", remedy="use the scores that need no reward")
    scaling = scaling or Scaling.of(data)
    training, held = split_episodes(data, settings.rows, settings.holdout, seeds[0])
    columns = training_columns(data, training, scaling)
    _require_targets(columns, settings)
    critic = fit_networks(columns, scaling, settings, seeds, on_progress)
    report, calibration = diagnose(critic, columns, training_columns(data, held, scaling))
    return FittedCritic(replace(critic, diagnosis=report), calibration)


def _require_targets(columns, settings: CriticSettings) -> None:
    last = columns.last
    one_step = len(last) == len(columns.inputs)
    known = columns.terminal[last] | (columns.known[last] & (settings.method == "lambda"))
    if one_step and not known.any():
        raise DatasetError(
            "no transition has a successor or a terminal, so values cannot be learned",
            remedy="store episodes of several steps, next observations, or terminal flags",
        )
