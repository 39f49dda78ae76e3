"""Updates per second of the agents of discrete actions against d3rlpy, in one run: `python benchmarks/bench_discrete.py`.

As bench_agents.py does for continuous ones: same batch (256), networks (two layers of 256) and data (100,000 rows of CartPole's
shape, 4 observations and 2 actions), drawing batches included, compiling apart, both libraries in turns, the best of the rounds.
Ours is the double target, so d3rlpy's `dqn` is its DoubleDQN. `--ours` leaves d3rlpy out and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

AGENTS = ("bc", "cql", "dqn")
OBSERVATIONS, ACTIONS, ROWS, BATCH, WIDTH, DEPTH = 4, 2, 100_000, 256, 256, 2
COUNT = 400  # timed updates a round
TARGET = Path(__file__).parents[1] / "results" / "bench" / "discrete.csv"


def make_data():
    """Random transitions in episodes of 200, equal on both sides."""
    import numpy as np

    rng = np.random.default_rng(0)
    return {
        "observations": rng.normal(size=(ROWS, OBSERVATIONS)).astype(np.float32),
        "actions": rng.integers(0, ACTIONS, (ROWS, 1)),
        "rewards": rng.normal(size=ROWS).astype(np.float32),
        "terminals": np.zeros(ROWS, np.float32),
        "timeouts": (np.arange(ROWS) % 200 == 199).astype(np.float32),
    }


def time_d3rlpy(agent: str, threads: int) -> dict[str, float]:
    """Milliseconds an update: sampling a batch and updating, as `fit` does."""
    import logging

    import d3rlpy
    import structlog
    import torch

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    torch.set_num_threads(threads)
    discrete = {"action_space": d3rlpy.ActionSpace.DISCRETE, "action_size": ACTIONS}
    dataset = d3rlpy.dataset.MDPDataset(**make_data(), **discrete)
    encoder = d3rlpy.models.encoders.VectorEncoderFactory([WIDTH] * DEPTH)
    configs = {
        "bc": d3rlpy.algos.DiscreteBCConfig,
        "cql": d3rlpy.algos.DiscreteCQLConfig,
        "dqn": d3rlpy.algos.DoubleDQNConfig,
    }
    algorithm = configs[agent](batch_size=BATCH, encoder_factory=encoder).create(device=False)
    algorithm.build_with_dataset(dataset)

    def run(updates: int) -> float:
        started = time.perf_counter()
        for _ in range(updates):
            algorithm.update(dataset.sample_transition_batch(BATCH))
        return 1000 * (time.perf_counter() - started) / updates

    run(3)
    return {"ms": min(run(COUNT // 2) for _ in range(2)), "first_s": 0.0}


def time_rlassay(agent: str, threads: int) -> dict[str, float]:
    """Milliseconds an update through `fitting.fit`; the first chunk, which compiles, is timed apart."""
    if threads == 1:
        from rlassay import runtime

        runtime.use_threads(1)
    import jax

    from rlassay.kernel import fitting

    made, columns = prepare_agent(agent)

    def chunk_after(state, start: int):
        return fitting.fit(
            made.step,
            state,
            columns,
            rows=len(columns.packed),
            start=start,
            steps=start + COUNT,
            batch_size=BATCH,
            seeds=[0],
            chunk=COUNT,
        )

    started = time.perf_counter()
    state = jax.block_until_ready(chunk_after(fitting.stack([made.init(0)]), 0))
    first, times = time.perf_counter() - started, []
    for chunk in range(1, 4):
        started = time.perf_counter()
        state = jax.block_until_ready(chunk_after(state, chunk * COUNT))
        times.append(1000 * (time.perf_counter() - started) / COUNT)
    return {"ms": min(times), "first_s": first}


def prepare_agent(agent: str):
    import numpy as np

    from rlassay.agents import DISCRETE_AGENTS, Shapes
    from rlassay.agents.columns import make_columns
    from rlassay.agents.training import make_settings
    from rlassay.data.dataset import Dataset

    changes = {"batch_size": BATCH, "width": WIDTH, "depth": DEPTH}
    settings, kind = make_settings(agent, changes, discrete=True), DISCRETE_AGENTS[agent]
    data, ends = Dataset.from_columns(**make_data()), (np.array([0]), np.array([ACTIONS - 1]))
    columns, _, _ = make_columns(data, kind, settings, *ends)
    return kind.make(settings, Shapes(OBSERVATIONS, ACTIONS)), columns


def measure(python: Path | str, side: str, agent: str, threads: int) -> dict[str, float]:
    """One side in a fresh process."""
    options = ["--side", side, "--agents", agent, "--threads", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [str(python), __file__, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{side} {agent} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(agents: list[str], threads: list[int], rounds: int) -> list[dict[str, object]]:
    """A row for every agent and thread count."""
    from peers import D3RLPY, peer_python

    python, rows = peer_python("d3rlpy", D3RLPY), []
    for count in threads:
        for agent in agents:
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(measure(sys.executable, "rlassay", agent, count))
                theirs.append(measure(python, "d3rlpy", agent, count))
            rows.append(row(agent, count, ours, theirs))
            print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def row(agent: str, threads: int, ours: list[dict], theirs: list[dict]) -> dict[str, object]:
    from peers import D3RLPY

    best, other = min(o["ms"] for o in ours), min(t["ms"] for t in theirs)
    return {
        "agent": agent,
        "threads": threads,
        "batch": BATCH,
        "width": WIDTH,
        "depth": DEPTH,
        "rlassay_ms": round(best, 3),
        "d3rlpy_ms": round(other, 3),
        "speedup": round(other / best, 2),
        "compile_s": round(min(o["first_s"] for o in ours), 1),
        "d3rlpy": D3RLPY.partition("==")[2],
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--ours", action="store_true", help="time our side alone")
    parser.add_argument("--side", choices=["rlassay", "d3rlpy"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    agents = options.agents.split(",")
    threads = sorted({int(count) for count in options.threads.split(",")})
    if options.side:
        timed = time_rlassay if options.side == "rlassay" else time_d3rlpy
        print(json.dumps(timed(agents[0], threads[0])))
        return
    if options.ours:
        for agent in agents:
            print(agent, json.dumps(measure(sys.executable, "rlassay", agent, threads[0])))
        return
    rows = compare(agents, threads, options.rounds)
    from rlassay.study.grid.files import write_table

    about = {"command": "python benchmarks/bench_discrete.py", "rounds": options.rounds}
    write_table(options.out, rows, list(rows[0]), about)


if __name__ == "__main__":
    main()
