"""Is CQL's weakness in the lite budget ours? Both CQLs on one dataset: `python benchmarks/cql_peer.py`.

rlassay's CQL and d3rlpy's train on the study's Hopper `expert` data with the same settings: published rates, rewards as
they are, networks, batch and samples of the lite profile, no phase of cloning. At each quarter of the budget: the mean
return of five episodes and the value each actor believes in. d3rlpy lives in its own virtual environment.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "results" / "agents" / "cql_peer.csv"
ENVIRONMENT, DATASET, EPISODES = "Hopper-v5", "expert", 5
WIDTH, DEPTH, BATCH, SAMPLES = 128, 2, 128, 4
CRITIC_RATE, ACTOR_RATE, TARGET_RATE, WEIGHT = 3e-4, 1e-4, 0.005, 5.0
Row = dict[str, object]


def train_ours(path: Path, updates: int, folder: Path) -> list[Row]:
    """Through the package, as `rlassay train` does."""
    import csv

    from rlassay.agents.training import train_agent
    from rlassay.formats import load

    settings = {
        "updates": updates,
        "eval_every": updates // 4,
        "eval_episodes": EPISODES,
        "width": WIDTH,
        "depth": DEPTH,
        "batch_size": BATCH,
        "action_samples": SAMPLES,
        "learning_rate": CRITIC_RATE,
        "conservative_weight": WEIGHT,
        "actor_learning_rate": ACTOR_RATE,
        "target_rate": TARGET_RATE,
        "cloning_share": 0.0,
        "normalise_observations": True,
    }
    train_agent("cql", load(path), ENVIRONMENT, folder=folder, settings=settings)
    with (folder / "log.csv").open() as source:
        return [
            {"update": int(row["update"]), "return": float(row["return"]), "q": float(row["q"])}
            for row in csv.DictReader(source)
            if row["return"]
        ]


def train_theirs(path: Path, updates: int) -> list[Row]:
    """Run by d3rlpy's own interpreter."""
    import logging

    import d3rlpy
    import gymnasium
    import numpy as np
    import structlog
    import torch

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    torch.set_num_threads(1)
    d3rlpy.seed(0)
    columns = np.load(path)
    observations, actions = columns["observations"], columns["actions"]
    ends = (columns[name].astype(np.float32) for name in ("terminals", "timeouts"))
    dataset = d3rlpy.dataset.MDPDataset(observations, actions, columns["rewards"], *ends)
    encoder = d3rlpy.models.encoders.VectorEncoderFactory([WIDTH] * DEPTH)
    scaler = d3rlpy.preprocessing.StandardObservationScaler(
        observations.mean(0), observations.std(0)
    )
    algorithm = d3rlpy.algos.CQLConfig(
        batch_size=BATCH,
        critic_learning_rate=CRITIC_RATE,
        actor_learning_rate=ACTOR_RATE,
        temp_learning_rate=ACTOR_RATE,
        alpha_learning_rate=0.0,
        initial_alpha=1.0,
        conservative_weight=WEIGHT,
        n_action_samples=SAMPLES,
        tau=TARGET_RATE,
        actor_encoder_factory=encoder,
        critic_encoder_factory=encoder,
        observation_scaler=scaler,
    ).create(device=False)
    algorithm.build_with_dataset(dataset)
    env = gymnasium.make(ENVIRONMENT)
    shown = observations[:: len(observations) // 1000]

    def play(seed: int) -> float:
        observation, _ = env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            action = algorithm.predict(observation[None].astype(np.float32))[0]
            observation, reward, terminal, timeout, _ = env.step(action)
            total, ended = total + float(reward), terminal or timeout
        return total

    rows: list[Row] = []
    for update in range(1, updates + 1):
        algorithm.update(dataset.sample_transition_batch(BATCH))
        if update % (updates // 4) == 0:
            believed = algorithm.predict_value(shown, algorithm.predict(shown)).mean()
            returns = [play(seed) for seed in range(EPISODES)]
            rows.append({"update": update, "return": float(np.mean(returns)), "q": float(believed)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=24_000)
    parser.add_argument("--theirs", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.theirs:
        print(json.dumps(train_theirs(options.theirs, options.updates)))
        return
    import tempfile

    from peers import D3RLPY, one_thread, peer_python

    from rlassay import runtime
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.files import write_table
    from rlassay.study.grid.plan import LITE

    runtime.use_threads(1)
    path = study_data(ENVIRONMENT, (DATASET,), LITE, ROOT / "zoo")[DATASET].path
    python = peer_python("d3rlpy-sim", D3RLPY, "mujoco", "imageio")
    command = [str(python), __file__, "--theirs", str(path), "--updates", str(options.updates)]
    with tempfile.TemporaryDirectory() as folder:
        peer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=one_thread())
        ours = train_ours(path, options.updates, Path(folder) / "run")
        printed, _ = peer.communicate()
    if peer.returncode != 0:
        raise SystemExit("d3rlpy's side failed")
    sides = {"rlassay": ours, "d3rlpy": json.loads(printed.strip().splitlines()[-1])}
    rows = [{"side": side, **row} for side, found in sides.items() for row in found]
    about = {
        "command": shlex.join(["python", "benchmarks/cql_peer.py", *sys.argv[1:]]),
        "dataset": f"{ENVIRONMENT} {DATASET}",
        "d3rlpy": D3RLPY,
        "seed": 0,
        "episodes": EPISODES,
    }
    write_table(TARGET, rows, list(rows[0]), about)
    for row in rows:
        print(row, file=sys.stderr)


if __name__ == "__main__":
    main()
