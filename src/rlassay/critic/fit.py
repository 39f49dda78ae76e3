"""One fit of the behavioural critic: rows are chosen, networks trained, and their values held against unseen episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rlassay.critic.diagnosis import Calibration, diagnose
from rlassay.critic.model import Critic, Scaling, require_numbers
from rlassay.critic.settings import CriticSettings
from rlassay.critic.targets import Columns, split_episodes, training_columns
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError

OnProgress = Callable[[int, str], None]


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
    require_numbers(data, scaling)
    training, held = split_episodes(data, settings.rows, settings.holdout, seeds[0])
    columns = training_columns(data, training, scaling)
    _require_targets(columns, settings)
    unseen = training_columns(data, held, scaling)
    if settings.settle:
        from rlassay.critic.settled import fit_until_settled

        critic = fit_until_settled(columns, unseen, scaling, settings, seeds, on_progress)
    else:
        from rlassay.critic.compiled import fit_networks

        critic = fit_networks(columns, scaling, settings, seeds, on_progress)
    report, calibration = diagnose(critic, columns, unseen)
    return FittedCritic(replace(critic, diagnosis=report), calibration)


def _require_targets(columns: Columns, settings: CriticSettings) -> None:
    last = columns.last
    one_step = len(last) == len(columns.inputs)
    known = columns.terminal[last] | (columns.known[last] & (settings.method == "lambda"))
    if one_step and not known.any():
        raise DatasetError(
            "no transition has a successor or a terminal, so values cannot be learned",
            remedy="store episodes of several steps, next observations, or terminal flags",
        )
