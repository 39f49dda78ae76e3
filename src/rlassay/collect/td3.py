"""Online TD3 (Fujimoto et al. 2018), resumable after a kill at any moment.

Environment steps and updates alternate in bursts of equal length, as the original did per episode.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.td3bc import critic_loss, first_value, target_value
from rlassay.collect.online import NETWORK_STREAM, OnlineTrainer
from rlassay.collect.settings import TD3Settings
from rlassay.kernel import fitting, nets, units
from rlassay.policy import Policy

REVISION = 1


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


class Trainer(OnlineTrainer):
    """One TD3 run in its own folder; actions in the replay are scaled to [-1, 1]."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        space = self.env.action_space
        return space.low.astype(np.float32), space.high.astype(np.float32)

    def fresh_state(self) -> TD3State:
        return init_state(self.settings, self.observation_dim, len(self.low), self.seed)

    def policy(self) -> Policy:
        return self.policy_of(self.state.actor)

    def explore(
        self, policy: Policy, observation: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Uniform at first, then the actor's action with noise."""
        if self.step_count < self.settings.random_steps:
            return rng.uniform(-1, 1, len(self.low)).astype(np.float32)
        action = policy(observation)
        unit = units.to_unit_from_low(action, self.low, self.high)
        noise = self.settings.exploration_noise * rng.standard_normal(len(self.low))
        return np.clip(unit + noise, -1, 1).astype(np.float32)

    def in_environment(self, action: np.ndarray) -> np.ndarray:
        return units.from_unit_from_low(action, self.low, self.high)

    def update(self, rng: np.random.Generator) -> dict[str, jax.Array]:
        shape = (self.settings.burst, self.settings.batch_size)
        columns: Any = self.replay.sample(rng.integers(0, self.replay.count, shape))
        noise = rng.standard_normal((*shape, len(self.low)), dtype=np.float32)
        self.state, info = fitting.run_steps(
            make_step(self.settings), self.state, None, Burst._make((*columns, noise))
        )
        return info


def describe(settings: TD3Settings) -> dict[str, Any]:
    """Settings as they are written into manifests and run keys."""
    return {**asdict(settings), "revision": REVISION}
