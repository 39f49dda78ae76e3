"""Online TD3 (Fujimoto et al. 2018), resumable after a kill at any moment.

Environment steps and updates alternate in bursts of equal length, as the original did per episode. Everything
random is a function of (seed, stream, counter), so a checkpoint holds no generator state; it is written at the end
of an episode, and the rows of the replay file past its saved count belong to nobody and are overwritten.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.td3bc import critic_loss, first_value, target_value
from rlassay.collect.progress import Progress, resume, save
from rlassay.collect.replay import Replay
from rlassay.collect.settings import TD3Settings
from rlassay.engine.lock import only_writer
from rlassay.kernel import fitting, nets, units
from rlassay.policy import Policy
from rlassay.rollout import Evaluator, make_env, reset_seed

REVISION = 1

TRAINING_STREAM, NOISE_STREAM, BATCH_STREAM, NETWORK_STREAM = 2, 3, 4, 5


class TD3State(NamedTuple):
    """Networks, targets and optimiser state; critics are a stacked pair."""

    actor: nets.Params
    critic: nets.Params
    actor_target: nets.Params
    critic_target: nets.Params
    actor_opt: Any
    critic_opt: Any
    updates: jax.Array


class Burst(NamedTuple):
    """Inputs of one burst of updates: (burst, batch, ...)."""

    observations: jax.Array
    actions: jax.Array
    rewards: jax.Array
    next_observations: jax.Array
    not_terminal: jax.Array
    noise: jax.Array


def init_state(settings: TD3Settings, observation_dim: int, action_dim: int, seed: int) -> TD3State:
    """Fresh networks, a function of the seed."""
    rng = np.random.default_rng([seed, NETWORK_STREAM])
    width = settings.hidden
    actor = nets.init_mlp(rng, (observation_dim, width, width, action_dim))
    critic = nets.init_mlp(rng, (observation_dim + action_dim, width, width, 1), ensemble=2)
    adam = optax.adam(settings.learning_rate)
    return TD3State(
        actor=actor,
        critic=critic,
        actor_target=jax.tree.map(jnp.array, actor),
        critic_target=jax.tree.map(jnp.array, critic),
        actor_opt=adam.init(actor),
        critic_opt=adam.init(critic),
        updates=jnp.zeros((), jnp.int32),
    )


def actor_loss(actor: nets.Params, critic: nets.Params, batch: Burst) -> jax.Array:
    """Minus the first critic's Q of the actor's action."""
    action = jnp.tanh(nets.mlp(actor, batch.observations))
    return -first_value(critic, batch.observations, action).mean()


def update_actor(settings: TD3Settings, state: TD3State, batch: Burst) -> TD3State:
    """One step of the actor, and of both targets."""
    gradient = jax.grad(actor_loss)(state.actor, state.critic, batch)
    change, actor_opt = optax.adam(settings.learning_rate).update(gradient, state.actor_opt)
    actor: Any = optax.apply_updates(state.actor, change)
    return state._replace(
        actor=actor,
        actor_opt=actor_opt,
        actor_target=nets.polyak(state.actor_target, actor, settings.target_rate),
        critic_target=nets.polyak(state.critic_target, state.critic, settings.target_rate),
    )


def update(settings: TD3Settings, state: TD3State, data: None, batch: Burst):
    """One update of the critics, and of the actor when it is due."""
    adam = optax.adam(settings.learning_rate)
    target = target_value(state.actor_target, state.critic_target, batch, batch.noise, settings)
    descent = jax.value_and_grad(critic_loss, has_aux=True)
    (loss, _), gradient = descent(state.critic, batch, target)
    change, critic_opt = adam.update(gradient, state.critic_opt)
    state = state._replace(
        critic=optax.apply_updates(state.critic, change),
        critic_opt=critic_opt,
        updates=state.updates + 1,
    )
    delayed = state.updates % settings.policy_delay == 0
    due = functools.partial(update_actor, settings, batch=batch)
    state = jax.lax.cond(delayed, due, lambda s: s, state)
    return state, {"critic_loss": loss, "target": target.mean()}


@functools.lru_cache
def make_step(settings: TD3Settings):
    """The update on one batch, in actions scaled to [-1, 1]; cached so that equal settings compile once."""
    return functools.partial(update, settings)


class Trainer:
    """One TD3 run in its own folder: `state.npz`, `replay.bin`, `curve.csv`, `actors/step<n>.safetensors`."""

    def __init__(self, env_id: str, seed: int, folder: Path, settings: TD3Settings):
        self.env_id, self.seed, self.folder, self.settings = env_id, seed, folder, settings
        self.env = make_env(env_id)
        space = self.env.action_space
        self.low, self.high = space.low.astype(np.float32), space.high.astype(np.float32)
        self.observation_dim = int(self.env.observation_space.shape[0])
        self.evaluator = Evaluator(env_id, settings.eval_episodes)
        self.replay = Replay(
            folder / "replay.bin", self.observation_dim, len(self.low), settings.steps
        )
        self.state = init_state(settings, self.observation_dim, len(self.low), seed)
        self.step_count = self.episode = self.pending = 0
        self.curve: list[Progress] = []
        self.info = {"critic_loss": 0.0, "target": 0.0}  # of the last burst

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

    def policy(self) -> Policy:
        """The current actor, ready to save and run."""
        layers = [
            {name: np.asarray(leaf) for name, leaf in layer.items()} for layer in self.state.actor
        ]
        return Policy(
            tuple(layer["w"] for layer in layers),
            tuple(layer["b"] for layer in layers),
            self.low,
            self.high,
            np.zeros(self.observation_dim, np.float32),
            np.ones(self.observation_dim, np.float32),
            metadata={"env_id": self.env_id, "seed": str(self.seed), "step": str(self.step_count)},
        )

    def _run_episode(self, report: Callable[[Progress], None]) -> None:
        observation, _ = self.env.reset(seed=reset_seed(self.seed, TRAINING_STREAM, self.episode))
        rng = np.random.default_rng([self.seed, NOISE_STREAM, self.episode])
        policy, done = self.policy(), False
        while not done and not self.finished:
            unit = self._explore(policy, observation, rng)
            action = units.from_unit_from_low(unit, self.low, self.high)
            following, reward, terminated, truncated, _ = self.env.step(action)
            self.step_count += 1
            done = terminated or truncated
            cut = not terminated and (truncated or self.finished)
            self.replay.add(observation, unit, reward, following, terminated, cut)
            observation = following
            self.pending += self.step_count > self.settings.random_steps
            if self.pending == self.settings.burst:
                self._update()
                policy = self.policy()
            if self.step_count % self.settings.eval_every == 0:
                self._evaluate(report)
        self.episode += 1

    def _explore(
        self, policy: Policy, observation: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        if self.step_count < self.settings.random_steps:
            return rng.uniform(-1, 1, len(self.low)).astype(np.float32)
        action = policy(observation)
        unit = units.to_unit_from_low(action, self.low, self.high)
        noise = self.settings.exploration_noise * rng.standard_normal(len(self.low))
        return np.clip(unit + noise, -1, 1).astype(np.float32)

    def _update(self) -> None:
        rng = np.random.default_rng([self.seed, BATCH_STREAM, self.step_count])
        shape = (self.settings.burst, self.settings.batch_size)
        columns: Any = self.replay.sample(rng.integers(0, self.replay.count, shape))
        noise = rng.standard_normal((*shape, len(self.low)), dtype=np.float32)
        self.state, info = fitting.run_steps(
            make_step(self.settings), self.state, None, Burst._make((*columns, noise))
        )
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


def describe(settings: TD3Settings) -> dict[str, Any]:
    """Settings as they are written into manifests and run keys."""
    return {**asdict(settings), "revision": REVISION}
