"""Online TD3 against Stable-Baselines3: environment steps a second, updates included, same networks and batch.

python benchmarks/bench_collect.py        # writes results/bench/collect.csv
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from peers import one_thread, peer_python

ENVIRONMENT, STEPS, WARM_UP, REPEATS = "Hopper-v5", 3_000, 1_000, 3

OURS = """
import sys, time, tempfile, json
from rlassay import runtime
runtime.use_threads(1)
from pathlib import Path
from rlassay.collect.td3 import TD3Settings, Trainer
env, steps, warm_up, batch = sys.argv[1], *map(int, sys.argv[2:])
settings = TD3Settings(steps=warm_up + steps, random_steps=warm_up - 100, batch_size=batch, hidden=256,
                       eval_every=10**9, checkpoint_every=10**9, eval_episodes=1)
trainer = Trainer(env, 0, Path(tempfile.mkdtemp()), settings)
started = time.perf_counter()
while trainer.step_count < warm_up:
    trainer._run_episode(lambda point: None)
compile_seconds = time.perf_counter() - started
first, started = trainer.step_count, time.perf_counter()
while trainer.step_count < warm_up + steps:
    trainer._run_episode(lambda point: None)
seconds = time.perf_counter() - started
print(json.dumps({"rate": (trainer.step_count - first) / seconds, "start_seconds": compile_seconds}))
"""

THEIRS = """
import sys, time, json
import gymnasium, numpy, torch
torch.set_num_threads(1)
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise
env_id, steps, warm_up, batch = sys.argv[1], *map(int, sys.argv[2:])
env = gymnasium.make(env_id)
size = env.action_space.shape[0]
noise = NormalActionNoise(numpy.zeros(size), 0.1 * numpy.ones(size))
started = time.perf_counter()
model = TD3("MlpPolicy", env, learning_rate=1e-3, batch_size=batch, train_freq=1, gradient_steps=1, action_noise=noise,
            learning_starts=warm_up - 100, policy_kwargs={"net_arch": [256, 256]}, device="cpu")
model.learn(warm_up)
start_seconds = time.perf_counter() - started
started = time.perf_counter()
model.learn(steps, reset_num_timesteps=False)
print(json.dumps({"rate": steps / (time.perf_counter() - started), "start_seconds": start_seconds}))
"""


def measure(python: str, code: str, batch: int) -> dict[str, float]:
    arguments = [python, "-c", code, ENVIRONMENT, str(STEPS), str(WARM_UP), str(batch)]
    done = subprocess.run(arguments, capture_output=True, text=True, env=one_thread(), check=False)
    if done.returncode:
        raise SystemExit(f"a peer failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    from rlassay.study.grid.files import write_table

    peer = str(peer_python("sb3", "stable-baselines3==2.9.2", "gymnasium[mujoco]"))
    rows = []
    for batch in (100, 256):
        pairs = [
            (measure(sys.executable, OURS, batch), measure(peer, THEIRS, batch))
            for _ in range(REPEATS)
        ]  # alternating, so that other load on the machine meets both
        ours = statistics.median(pair[0]["rate"] for pair in pairs)
        theirs = statistics.median(pair[1]["rate"] for pair in pairs)
        rows.append(
            {
                "environment": ENVIRONMENT,
                "batch_size": batch,
                "rlassay_steps_per_second": ours,
                "sb3_steps_per_second": theirs,
                "ratio": statistics.median(a["rate"] / b["rate"] for a, b in pairs),
                "rlassay_start_seconds": statistics.median(a["start_seconds"] for a, _ in pairs),
                "sb3_start_seconds": statistics.median(b["start_seconds"] for _, b in pairs),
            }
        )
        print(rows[-1])
    about = {"command": "python benchmarks/bench_collect.py", "steps": STEPS, "repeats": REPEATS}
    write_table(Path("results/bench/collect.csv"), rows, list(rows[0]), about)


if __name__ == "__main__":
    main()
