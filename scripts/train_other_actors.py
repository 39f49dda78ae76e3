"""Train an actor of another algorithm (SAC of sbx-rl) and store it in the zoo beside our own runs.

    python scripts/train_other_actors.py train Hopper-v5 -o others   # needs sbx-rl, torch and gymnasium[mujoco]
    python scripts/train_other_actors.py add others                  # into zoo/, evaluated with our rollout

The weights become one of our policy files; the file is written only if our forward pass and the library's `predict` give
the same actions to 1e-5. Settings were chosen by the cost of a step alone, before any return was looked at.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.policy import Policy
from rlassay.rollout import evaluate, make_env

STEPS, SEED, EVALUATE_EVERY, EPISODES = 160_000, 0, 16_000, 5  # whole bursts of 64 steps
SETTINGS: dict[str, Any] = {
    "batch_size": 128,
    "train_freq": 64,
    "gradient_steps": 64,
    "policy_delay": 2,
    "learning_starts": 10_000,
}
WIDTHS = [128, 128]
LIBRARIES = ("sbx-rl", "stable_baselines3", "jax", "flax", "torch", "gymnasium", "mujoco", "numpy")
CLOSE = 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("environment")
    training.add_argument("-o", "--out", type=Path, required=True)
    training.add_argument("--steps", type=int, default=STEPS)
    adding = commands.add_parser("add")
    adding.add_argument("folder", type=Path)
    adding.add_argument("--zoo", type=Path, default=Path("zoo"))
    asked = parser.parse_args()
    if asked.command == "train":
        train(asked.environment, asked.out, asked.steps)
        return
    from rlassay.collect.zoo import add_other

    for path in sorted(asked.folder.glob("*.json")):
        policy = Policy.load(path.with_suffix(".safetensors"))
        print(path.stem, add_other(asked.zoo, json.loads(path.read_text()), policy))


def train(environment: str, out: Path, steps: int) -> None:
    """Train SAC and write the actor, and beside it where it comes from and how its evaluations went."""
    from sbx import SAC

    model = SAC(
        "MlpPolicy",
        make_env(environment),
        seed=SEED,
        policy_kwargs={"net_arch": WIDTHS},
        **SETTINGS,
    )
    curve, started = [], time.process_time()
    while model.num_timesteps < steps:
        model.learn(EVALUATE_EVERY, reset_num_timesteps=model.num_timesteps == 0)
        policy = policy_of(model)
        returns = evaluate(policy, environment, episodes=EPISODES, seed=SEED).values
        curve.append([model.num_timesteps, round(float(returns.mean()), 2)])
        print(environment, *curve[-1], f"{time.process_time() - started:.0f} s", flush=True)
    difference = largest_difference(model, policy, environment)
    if difference > CLOSE:
        raise SystemExit(f"our actions differ from the library's by {difference:.2g}")
    about = {
        "environment": environment,
        "algorithm": "sac",
        "seed": SEED,
        "steps": steps,
        "settings": {**SETTINGS, "net_arch": WIDTHS, "other settings": "the library's defaults"},
        "software": {name: version(name) for name in LIBRARIES},
        "largest_difference": difference,
        "curve": curve,
    }
    out.mkdir(parents=True, exist_ok=True)
    policy.save(out / f"{environment}.safetensors")
    (out / f"{environment}.json").write_text(json.dumps(about, indent=1) + "\n")


def policy_of(model: Any) -> Policy:
    """The deterministic actor: tanh of the mean, which is the third layer; the fourth is the deviation's."""
    parameters = model.policy.actor_state.params["params"]
    layers = [parameters[f"Dense_{k}"] for k in range(len(WIDTHS) + 1)]
    space = model.action_space
    size = model.observation_space.shape[0]
    return Policy(
        tuple(np.asarray(layer["kernel"], np.float32) for layer in layers),
        tuple(np.asarray(layer["bias"], np.float32) for layer in layers),
        space.low,
        space.high,
        np.zeros(size, np.float32),
        np.ones(size, np.float32),
        metadata={"algorithm": "sac", "step": str(model.num_timesteps)},
    )


def largest_difference(model: Any, policy: Policy, environment: str) -> float:
    """Of our actions from the library's, over the states of one episode."""
    env = make_env(environment)
    observation, _ = env.reset(seed=SEED)
    states, done = [], False
    while not done:
        states.append(observation)
        observation, _, terminated, truncated, _ = env.step(policy(observation))
        done = terminated or truncated
    seen = np.array(states, np.float32)
    theirs, _ = model.predict(seen, deterministic=True)
    return float(np.abs(policy(seen) - theirs).max())


if __name__ == "__main__":
    main()
