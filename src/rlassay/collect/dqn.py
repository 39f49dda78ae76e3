"""Online DQN with the double target, for environments with discrete actions; resumable as TD3 is."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.discrete import double
from rlassay.agents.discrete.dqn import critic_loss
from rlassay.agents.learner import new_learner
from rlassay.collect.online import NETWORK_STREAM, OnlineTrainer
from rlassay.collect.settings import DQNSettings
from rlassay.kernel import fitting, nets
from rlassay.policy import Policy

REVISION = 1


class Burst(NamedTuple):
    """Inputs of one burst of updates: (burst, batch, ...)."""

    observations: jax.Array
    actions: jax.Array
    rewards: jax.Array
    next_observations: jax.Array
    not_terminal: jax.Array


def optimiser(settings: DQNSettings) -> optax.GradientTransformation:
    """Adam whose rate falls to zero over the run: at a constant one the last actor is good or bad by chance."""
    assert settings.steps is not None
    return optax.adam(optax.linear_schedule(settings.learning_rate, 0.0, settings.steps))


def update(settings: DQNSettings, state: double.DoubleState, data: None, batch: Burst):
    """One update of the critic and its target."""
    state, info = double.update(optimiser(settings), settings, state, batch, critic_loss)
    return state, {name: info[name] for name in ("critic_loss", "target")}


@functools.lru_cache
def make_step(settings: DQNSettings):
    """The update on one batch; cached so that equal settings compile once."""
    return functools.partial(update, settings)


class Trainer(OnlineTrainer):
    """One DQN run in its own folder; actions in the replay are counted from the environment's first."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        first, count = int(self.env.action_space.start), int(self.env.action_space.n)
        return np.array([first], np.float32), np.array([first + count - 1], np.float32)

    @property
    def count(self) -> int:
        """How many actions there are."""
        return int(self.env.action_space.n)

    def fresh_state(self) -> double.DoubleState:
        rng, width = np.random.default_rng([self.seed, NETWORK_STREAM]), self.settings.hidden
        critic = nets.init_mlp(rng, (self.observation_dim, width, width, self.count))
        learner = new_learner(optimiser(self.settings), critic)
        return double.DoubleState(learner, jax.tree.map(jnp.array, critic))

    def policy(self) -> Policy:
        return self.policy_of(self.state.critic.params, discrete=True)

    def explore(self, policy: Policy, observation: np.ndarray, rng: np.random.Generator) -> int:
        """The preferred action, or with a probability that falls over the first steps any other."""
        fallen = min(self.step_count / self.settings.exploration_steps, 1.0)
        random_share = 1.0 + (self.settings.exploration - 1.0) * fallen
        if self.step_count < self.settings.random_steps or rng.random() < random_share:
            return int(rng.integers(self.count))
        return int(policy(observation)) - int(self.low[0])

    def in_environment(self, action: int) -> int:
        return action + int(self.low[0])

    def update(self, rng: np.random.Generator) -> dict[str, Any]:
        shape = (self.settings.burst, self.settings.batch_size)
        columns: Any = self.replay.sample(rng.integers(0, self.replay.count, shape))
        batch = Burst._make(columns)
        batch = batch._replace(actions=batch.actions[..., 0].astype(np.int32))
        self.state, info = fitting.run_steps(make_step(self.settings), self.state, None, batch)
        return info


def describe(settings: DQNSettings) -> dict[str, Any]:
    """Settings as they are written into manifests and run keys."""
    return {**asdict(settings), "revision": REVISION}
