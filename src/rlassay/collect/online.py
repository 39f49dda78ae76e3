"""What online learners share: environment steps and updates in bursts, evaluations, and a folder that continues.

Everything random is a function of (seed, stream, counter), so a checkpoint holds no generator state; it is written at the
end of an episode, and the rows of the replay file past its saved count belong to nobody and are overwritten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.collect.progress import Progress, resume, save
from rlassay.collect.replay import Replay
from rlassay.engine.lock import only_writer
from rlassay.kernel import nets
from rlassay.policy import Policy
from rlassay.rollout import Evaluator, make_env, reset_seed

TRAINING_STREAM, NOISE_STREAM, BATCH_STREAM, NETWORK_STREAM = 2, 3, 4, 5


class OnlineTrainer(ABC):
    """One run in its own folder: `state.npz`, `replay.bin`, `curve.csv`, `actors/step<n>.safetensors`."""

    low: np.ndarray
    high: np.ndarray
    state: Any

    def __init__(self, env_id: str, seed: int, folder: Path, settings: Any):
        self.env_id, self.seed, self.folder, self.settings = env_id, seed, folder, settings
        self.env = make_env(env_id)
        self.low, self.high = self.bounds()
        self.observation_dim = int(self.env.observation_space.shape[0])
        self.evaluator = Evaluator(env_id, settings.eval_episodes)
        self.replay = Replay(
            folder / "replay.bin", self.observation_dim, len(self.low), settings.steps
        )
        self.state = self.fresh_state()
        self.step_count = self.episode = self.pending = 0
        self.curve: list[Progress] = []
        self.info = {"critic_loss": 0.0, "target": 0.0}  # of the last burst

    @abstractmethod
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest action."""

    @abstractmethod
    def fresh_state(self) -> Any:
        """Networks and optimisers before the first update."""

    @abstractmethod
    def policy(self) -> Policy:
        """The current actor, ready to save and run."""

    @abstractmethod
    def explore(self, policy: Policy, observation: np.ndarray, rng: np.random.Generator) -> Any:
        """The next action, as the replay keeps it."""

    @abstractmethod
    def in_environment(self, action: Any) -> Any:
        """That action, as the environment takes it."""

    @abstractmethod
    def update(self, rng: np.random.Generator) -> dict[str, Any]:
        """A burst of updates from the replay; returns what is logged."""

    def run(self, report: Callable[[Progress], None] = lambda point: None) -> None:
        """Train to the end, from the last checkpoint if there is one."""
        with only_writer(self.folder):
            resume(self)
            saved = self.step_count
            while self.step_count < self.settings.steps:
                self._run_episode(report)
                if self.step_count - saved >= self.settings.checkpoint_every or self.finished:
                    save(self)
                    saved = self.step_count
        self.env.close()
        self.evaluator.close()

    @property
    def finished(self) -> bool:
        return self.step_count >= self.settings.steps

    def policy_of(self, layers: nets.Params, **kind: Any) -> Policy:
        """A network as a policy on raw observations."""
        arrays = [{name: np.asarray(leaf) for name, leaf in layer.items()} for layer in layers]
        return Policy(
            tuple(layer["w"] for layer in arrays),
            tuple(layer["b"] for layer in arrays),
            self.low,
            self.high,
            np.zeros(self.observation_dim, np.float32),
            np.ones(self.observation_dim, np.float32),
            metadata={"env_id": self.env_id, "seed": str(self.seed), "step": str(self.step_count)},
            **kind,
        )

    def _run_episode(self, report: Callable[[Progress], None]) -> None:
        observation, _ = self.env.reset(seed=reset_seed(self.seed, TRAINING_STREAM, self.episode))
        rng = np.random.default_rng([self.seed, NOISE_STREAM, self.episode])
        policy, done = self.policy(), False
        while not done and not self.finished:
            action = self.explore(policy, observation, rng)
            following, reward, terminated, truncated, _ = self.env.step(self.in_environment(action))
            self.step_count += 1
            done = terminated or truncated
            cut = not terminated and (truncated or self.finished)
            self.replay.add(observation, action, reward, following, terminated, cut)
            observation = following
            self.pending += self.step_count > self.settings.random_steps
            if self.pending == self.settings.burst:
                self._update()
                policy = self.policy()
            if self.step_count % self.settings.eval_every == 0:
                self._evaluate(report)
        self.episode += 1

    def _update(self) -> None:
        info = self.update(np.random.default_rng([self.seed, BATCH_STREAM, self.step_count]))
        self.info = {name: float(np.mean(value)) for name, value in info.items()}
        self.pending = 0

    def _evaluate(self, report: Callable[[Progress], None]) -> None:
        policy = self.policy()
        returns = self.evaluator(policy, reset_seed(self.seed, self.step_count)).values
        policy.save(self.folder / "actors" / f"step{self.step_count}.safetensors")
        shown = [round(float(value), 3) for value in returns]
        point = Progress(self.step_count, shown, self.info["critic_loss"], self.info["target"])
        self.curve.append(point)
        report(point)
