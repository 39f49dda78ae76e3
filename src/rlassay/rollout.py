"""Run a policy in a Gymnasium environment: returns for evaluation, transitions for collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.errors import SettingsError
from rlassay.runtime import quiet_mujoco, quiet_simulator

Act = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Returns:
    """Undiscounted return and length of each evaluation episode."""

    values: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.values.mean())


def make_env(env_id: str) -> Any:
    """A Gymnasium environment with vector observations, and actions that are bounded or discrete."""
    try:
        import gymnasium
    except ImportError:
        raise SettingsError(
            "running an environment needs the simulator extra",
            remedy="install it with `pip install 'rl-assay[sim]'`",
        ) from None
    quiet_simulator()
    try:
        if "mujoco" in str(gymnasium.spec(env_id).entry_point):
            quiet_mujoco()
        env = gymnasium.make(env_id)
    except (gymnasium.error.Error, ImportError, ModuleNotFoundError) as error:
        raise SettingsError(
            f"cannot make the environment {env_id!r} ({str(error).splitlines()[0]})",
            allowed="ids that gymnasium.make knows, such as Hopper-v5, HalfCheetah-v5, Pendulum-v1, CartPole-v1",
            remedy="check the spelling, or install the simulator with `pip install 'rl-assay[sim]'`",
        ) from None
    _require_vectors(env, env_id)
    return env


def is_discrete(env: Any) -> bool:
    """Whether one whole number is the action."""
    from gymnasium.spaces import Discrete

    return isinstance(env.action_space, Discrete)


def _require_vectors(env: Any, env_id: str) -> None:
    from gymnasium.spaces import Box

    for name, space in (("observations", env.observation_space), ("actions", env.action_space)):
        box = isinstance(space, Box) and len(space.shape) == 1
        if not box and not (name == "actions" and is_discrete(env)):
            raise SettingsError(
                f"{env_id} has {name} of the space {space}",
                allowed="a Box of one dimension" + (", or Discrete" if name == "actions" else ""),
                remedy="choose an environment with vectors of observations",
            )
    if is_discrete(env):
        return
    if not np.isfinite([env.action_space.low, env.action_space.high]).all():
        raise SettingsError(
            f"the actions of {env_id} are unbounded",
            remedy="wrap the environment in gymnasium.wrappers.RescaleAction",
        )


def reset_seed(*parts: int) -> int:
    """A seed for one reset, from (seed, stream, episode): the same wherever and whenever it is drawn."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0] % (2**31))


EVALUATION_STREAM = 1


class Evaluator:
    """Deterministic evaluation in several copies of one environment, stepped in turn with one batched policy call."""

    def __init__(self, env_id: str, episodes: int):
        self.env_id = env_id
        self.envs = [make_env(env_id) for _ in range(episodes)]

    def __call__(self, act: Act, seed: int, episodes: int | None = None) -> Returns:
        """Returns of one episode per copy, or of the first `episodes`; resets depend on `seed` and the number only."""
        envs = self.envs[:episodes]
        observations = np.stack(
            [
                env.reset(seed=reset_seed(seed, EVALUATION_STREAM, k))[0]
                for k, env in enumerate(envs)
            ]
        )
        totals, lengths = np.zeros(len(envs)), np.zeros(len(envs), int)
        active = list(range(len(envs)))
        while active:
            actions = act(observations[active])
            still = []
            for k, action in zip(active, actions, strict=True):
                observations[k], reward, terminated, truncated, _ = envs[k].step(action)
                totals[k] += reward
                lengths[k] += 1
                if not (terminated or truncated):
                    still.append(k)
            active = still
        return Returns(totals, lengths)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def evaluate(act: Act, env_id: str, *, episodes: int = 10, seed: int = 0) -> Returns:
    """Returns of `episodes` episodes of a policy, each from its own seeded reset."""
    evaluator = Evaluator(env_id, episodes)
    try:
        return evaluator(act, seed)
    finally:
        evaluator.close()


@dataclass(frozen=True)
class Transitions:
    """Columns of collected experience; `timeouts` marks where an episode was cut, not ended."""

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_observations: np.ndarray
    terminals: np.ndarray
    timeouts: np.ndarray


def collect(
    env: Any,
    act: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    count: int,
    seeds: Sequence[int],
) -> Transitions:
    """`count` transitions of a (noisy) policy; episode e resets with (seeds, e) and draws its noise from there.

    The last episode is cut at `count` and flagged as a timeout.
    """
    rows: list[list[Any]] = [[] for _ in range(6)]
    stored = np.int64 if is_discrete(env) else np.float32
    episode = 0
    while len(rows[0]) < count:
        observation, _ = env.reset(seed=reset_seed(*seeds, episode))
        rng = np.random.default_rng([*seeds, episode])
        done = False
        while not done and len(rows[0]) < count:
            action = np.asarray(act(observation, rng)).astype(stored)[()]
            following, reward, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
            cut = (truncated and not terminated) or (not done and len(rows[0]) == count - 1)
            for column, value in zip(
                rows, (observation, action, reward, following, terminated, cut), strict=True
            ):
                column.append(value)
            observation = following
        episode += 1
    observations, actions, rewards, following, terminals, timeouts = rows
    return Transitions(
        np.asarray(observations, np.float32),
        np.asarray(actions, stored),
        np.asarray(rewards, np.float32),
        np.asarray(following, np.float32),
        np.asarray(terminals, bool),
        np.asarray(timeouts, bool),
    )
