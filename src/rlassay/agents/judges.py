"""Who says how good a policy is while it is trained: the simulator, or held-out episodes where there is none."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rlassay.agents.agent import AgentKind, TrainSettings
from rlassay.agents.held_out import Examples, split_rows
from rlassay.agents.prolong import episodes_at
from rlassay.agents.spaces import space_of_data, space_of_environment
from rlassay.data.dataset import Dataset
from rlassay.errors import SettingsError
from rlassay.policy import Policy
from rlassay.results.run import Evaluation
from rlassay.rollout import Evaluator, reset_seed

HELD_OUT_SETTINGS = ("held_out_share", "patience")


class InEnvironment:
    """Returns in the simulator; the last evaluations count."""

    training_rows = None  # all
    patience = None
    about: dict[str, Any] | None = None

    def __init__(self, data: Dataset, env_id: str, settings: TrainSettings, seed: int):
        self.env_id, self.settings, self.seed = env_id, settings, seed
        most = max(settings.eval_episodes, settings.final_eval_episodes or 0)
        self.evaluator = Evaluator(env_id, most)
        self.space = space_of_environment(self.evaluator.envs[0], data, env_id)

    def __call__(self, policy: Policy, updates: int) -> Evaluation:
        """Returns of fresh episodes."""
        episodes = episodes_at(self.settings, updates)
        returns = self.evaluator(policy, reset_seed(self.seed, updates), episodes)
        return Evaluation(updates, tuple(returns.values.tolist()), tuple(returns.lengths.tolist()))

    def close(self) -> None:
        self.evaluator.close()


class OnHeldOut:
    """Errors on held-out episodes; the best evaluation counts, and training stops when it stays the best."""

    env_id = None

    def __init__(self, data: Dataset, settings: Any, reason: str):
        self.patience: int | None = settings.patience
        self.space = space_of_data(data)
        self.training_rows, held = split_rows(data, settings.held_out_share)
        self.examples = Examples.of(data, self.training_rows, held, self.space.size)
        episodes = len(set(self.examples.episodes.tolist()))
        counts = {"rows": len(self.examples.actions), "episodes": episodes}
        self.about = {"unit": self.examples.unit, **counts, "reason": reason}

    def __call__(self, policy: Policy, updates: int) -> Evaluation:
        """The error on the held-out rows."""
        return Evaluation(updates, (), (), self.examples.judge(policy))

    def close(self) -> None:
        """Nothing is open."""


Judge = InEnvironment | OnHeldOut


def make_judge(
    kind: AgentKind, data: Dataset, env_id: str | None, settings: TrainSettings, seed: int
) -> Judge:
    """The simulator; held-out episodes for an agent that clones, where none is named or the file's cannot be made."""
    clones = not kind.needs_rewards and hasattr(settings, "held_out_share")
    try:
        judge = InEnvironment(data, environment_of(data, env_id), settings, seed)
    except SettingsError as error:
        if env_id is not None or not clones:
            raise
        return OnHeldOut(data, settings, error.what)
    _refuse_held_out(settings, judge.env_id)
    return judge


def environment_of(data: Dataset, env_id: str | None) -> str:
    """The environment to evaluate in: the one named, else the one the dataset names."""
    if env_id or data.env_id:
        return env_id or str(data.env_id)
    raise SettingsError(
        f"{data.origin.source} does not name its environment",
        remedy="name it with --env, such as --env Hopper-v5; `train bc` needs none",
    )


def _refuse_held_out(settings: TrainSettings, env_id: str) -> None:
    """Settings that would reach nothing."""
    for field in fields(settings):
        if field.name in HELD_OUT_SETTINGS and getattr(settings, field.name) != field.default:
            raise SettingsError(
                f"{field.name} is for training without a simulator, and {env_id} is one",
                remedy="leave it out: in an environment the last evaluations count",
            )
