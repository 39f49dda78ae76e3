"""Settings of scoring, their presets, and the statistics that several datasets share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rlassay import settings as change_settings
from rlassay.critic import FAST, PAPER, CriticSettings, Scaling, refuse_idle_settings
from rlassay.errors import SettingsError
from rlassay.settings import added_later, require
from rlassay.transport import ESTIMATORS, TransportSettings, resolve_cost
from rlassay.words import suggest


@dataclass(frozen=True)
class EvaluationSettings:
    """Which rows are scored and how their uncertainty is measured."""

    share: float = 0.5  # most of the rows to score, so that potentials learn from others
    replicates: int = 400  # bootstrap resamples of the episodes

    def __post_init__(self) -> None:
        require(0 < self.share <= 1, "evaluation.share", "above 0, up to 1", self.share)
        require(self.replicates >= 20, "evaluation.replicates", "20 or more", self.replicates)


@dataclass(frozen=True)
class BaselineSettings:
    """Settings of the baselines that need some."""

    fit_steps: int = 3_000  # gradient steps of the policies behind eas and bc_error
    fit_batch_size: int = 256  # rows a step
    fit_learning_rate: float = 1e-3  # of Adam, falling to zero by a cosine
    fit_rows: int = 50_000  # most transitions these policies are fitted to
    bins: int = 5  # cells a dimension for saco
    neighbours: int = 4  # k of knn_entropy
    neighbour_rows: int = 4_000  # rows sampled for knn_entropy
    # stop the cloned policy of bc_error before `fit_steps` once its held-out error has settled
    fit_settle: bool = added_later(False)

    def __post_init__(self) -> None:
        for name in ("fit_steps", "fit_batch_size", "fit_rows", "neighbours"):
            require(getattr(self, name) >= 1, f"baselines.{name}", "1 or more", getattr(self, name))
        require(self.bins >= 2, "baselines.bins", "2 or more", self.bins)
        rate, rows = self.fit_learning_rate, self.neighbour_rows
        require(rate > 0, "baselines.fit_learning_rate", "above 0", rate)
        wanted = "more than baselines.neighbours"
        require(rows > self.neighbours, "baselines.neighbour_rows", wanted, rows)


@dataclass(frozen=True)
class ScoreSettings:
    """Every setting of `rlassay score`, by part; `transport.states` is the number of evaluated rows."""

    critic: CriticSettings = field(default_factory=CriticSettings)
    transport: TransportSettings = field(default_factory=TransportSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    baselines: BaselineSettings = field(default_factory=BaselineSettings)


PRESETS: dict[str, ScoreSettings] = {
    "default": ScoreSettings(),
    "paper": ScoreSettings(
        critic=PAPER,
        transport=TransportSettings(
            estimator="dual",
            epsilon=1.0,
            k=1,
            random_policy="clipped_normal",
            learning_rate=3e-4,
        ),
    ),
    "fast": ScoreSettings(
        critic=FAST,
        transport=TransportSettings(steps=2_000, states=5_000, anchors=500, neighbour_pool=10_000),
        evaluation=EvaluationSettings(replicates=200),
        baselines=BaselineSettings(fit_steps=1_000, neighbour_rows=2_000),
    ),
}


@dataclass(frozen=True)
class Plan:
    """Settings with the names that were changed by hand."""

    settings: ScoreSettings
    preset: str
    changed: Mapping[str, Any]

    def transport_for(self, estimator: str) -> TransportSettings:
        """Settings of one member of the `bwd` family; it takes its own cost unless one was named."""
        changes: dict[str, Any] = {"estimator": estimator}
        own = ESTIMATORS[estimator].cost
        if own is not None and "transport.cost" not in self.changed:
            changes["cost"] = own
        return change_settings.change(self.settings.transport, changes)


def plan(preset: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """A preset with changes; unknown names and settings without effect are refused."""
    if preset not in PRESETS:
        meant = suggest(preset, PRESETS)
        raise SettingsError(f"unknown preset{meant}", allowed=list(PRESETS), got=preset)
    changed = dict(changes or {})
    settings = change_settings.change(PRESETS[preset], changed)
    of_critic = {key.removeprefix("critic.") for key in changed if key.startswith("critic.")}
    refuse_idle_settings(settings.critic.method, of_critic)
    resolve_cost(settings.transport)  # an unknown cost is refused before anything is trained
    return Plan(settings, preset, changed)


# What only one kind of actions reads; `transport.k` is read by the training of `dual` for both.
ONLY_CONTINUOUS = (
    *("transport.random_policy", "transport.neighbours"),
    *("transport.neighbour_pool", "transport.per_episode"),
)
ONLY_DISCRETE = ("transport.ground",)


def refuse_idle_for(chosen: Plan, discrete: bool) -> None:
    """Refuse a setting that was changed by hand and that data of this kind never reads."""
    idle = set(ONLY_CONTINUOUS if discrete else ONLY_DISCRETE) & set(chosen.changed)
    if idle:
        kinds = ("discrete", "continuous") if discrete else ("continuous", "discrete")
        raise SettingsError(
            f"{sorted(idle)[0]} has no effect on {kinds[0]} actions",
            remedy=f"leave it out; it is for {kinds[1]} ones",
        )


def until_settled(chosen: Plan) -> Plan:
    """The plan of a `score`: with preset `default` the fits end once they have settled, unless that was set by hand."""
    if chosen.preset != "default":
        return chosen
    switches = {"baselines.fit_settle": True}
    if chosen.settings.critic.method == "lambda":
        switches["critic.settle"] = True
    left = {key: value for key, value in switches.items() if key not in chosen.changed}
    return replace(chosen, settings=change_settings.change(chosen.settings, left))


@dataclass(frozen=True)
class Shared:
    """What the datasets of one comparison have in common."""

    scaling: Scaling  # over all of them
    cell_low: np.ndarray  # bounds of the grid of saco, states then actions
    cell_high: np.ndarray
    epsilons: Mapping[str, float] = field(default_factory=dict)  # absolute, by estimator
