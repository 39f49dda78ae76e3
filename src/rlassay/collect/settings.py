"""Settings of collection; plain dataclasses, so that the command line reads them without JAX."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

PAPER_LEVELS = (0, 50_000, 200_000, 400_000, 600_000, 800_000, 1_000_000)
DQN_STEPS, MANY_DQN_STEPS = {"CartPole-v1": 30_000}, 60_000  # until DQN is good there; elsewhere
LEVEL_SHARES = tuple(step / PAPER_LEVELS[-1] for step in PAPER_LEVELS)  # of a training


@dataclass(frozen=True)
class TD3Settings:
    """Settings of online TD3; the defaults are the original's (2018) with networks of 256 and 256."""

    steps: int = 1_000_000  # environment steps, one update each
    random_steps: int = 10_000  # uniform actions before the first update
    batch_size: int = 100
    hidden: int = 256  # width of the two hidden layers
    learning_rate: float = 1e-3
    discount: float = 0.99
    target_rate: float = 0.005  # of critics and actor, on delayed steps
    policy_delay: int = 2  # critic updates per actor update
    exploration_noise: float = 0.1  # of half the action range
    target_noise: float = 0.2
    target_noise_clip: float = 0.5
    burst: int = 50  # environment steps, then as many updates
    eval_every: int = 10_000
    eval_episodes: int = 5
    checkpoint_every: int = 10_000  # at the first episode end after so many steps


@dataclass(frozen=True)
class DQNSettings:
    """Settings of online DQN, for environments with discrete actions."""

    steps: int | None = None  # of the environment, one update each; none: what it takes, see below
    random_steps: int = 1_000  # random actions before the first update
    batch_size: int = 128
    hidden: int = 64  # width of the two hidden layers
    learning_rate: float = 1e-3  # at the start; it falls to zero over the steps
    discount: float = 0.99
    target_rate: float = 0.01
    huber_delta: float = 1.0  # errors beyond count linearly
    exploration: float = 0.05  # share of random actions, once it has fallen from 1
    exploration_steps: int = 6_000  # until then
    burst: int = 50  # environment steps, then as many updates
    eval_every: int = 1_000
    eval_episodes: int = 5
    checkpoint_every: int = 5_000  # at the first episode end after so many steps

    def for_environment(self, env_id: str) -> DQNSettings:
        """With the number of steps the environment takes, where none is said."""
        steps = DQN_STEPS.get(env_id, MANY_DQN_STEPS) if self.steps is None else self.steps
        return replace(self, steps=steps)


@dataclass(frozen=True)
class CollectSettings:
    """What is collected. The six steps are the paper's levels; random as the seventh is our reading."""

    td3: TD3Settings = field(default_factory=TD3Settings)
    dqn: DQNSettings = field(default_factory=DQNSettings)  # where actions are discrete
    levels: tuple[int, ...] = PAPER_LEVELS  # training steps; 0 is random; of DQN: the same shares
    transitions: int = 100_000  # a dataset; the paper has 5 seeds x 200,000
    noise: float = 0.1  # while collecting: of half the action range, or the share of random actions
    format: Literal["d4rl", "minari", "both"] = "d4rl"
    mixes: bool = True  # D4RL's random, medium, medium-replay, medium-expert and expert


def levels_of(settings: CollectSettings, online: TD3Settings | DQNSettings) -> tuple[int, ...]:
    """The levels asked for; DQN's trainings are shorter, so that its default levels are the same shares of them."""
    if isinstance(online, TD3Settings) or settings.levels != PAPER_LEVELS:
        return settings.levels
    every, steps = online.eval_every, online.steps or MANY_DQN_STEPS
    shares = [round(share * steps / every) * every for share in LEVEL_SHARES[1:]]
    return (0, *sorted({max(every, step) for step in shares}))
