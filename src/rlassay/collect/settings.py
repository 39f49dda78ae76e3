"""Settings of collection; plain dataclasses, so that the command line reads them without JAX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PAPER_LEVELS = (0, 50_000, 200_000, 400_000, 600_000, 800_000, 1_000_000)


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
class CollectSettings:
    """What is collected. The six steps are the paper's levels; random as the seventh is our reading."""

    td3: TD3Settings = field(default_factory=TD3Settings)
    levels: tuple[int, ...] = PAPER_LEVELS  # training steps; 0 is the random policy
    transitions: int = 100_000  # a dataset; the paper has 5 seeds x 200,000
    noise: float = 0.1  # exploration noise while collecting, of half the action range
    format: Literal["d4rl", "minari", "both"] = "d4rl"
    mixes: bool = True  # D4RL's random, medium, medium-replay, medium-expert and expert
