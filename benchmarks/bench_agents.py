"""Updates per second of the agents against d3rlpy, in one run on this machine: `python benchmarks/bench_agents.py`.

Same batch (256), networks (two layers of 256) and data (100,000 rows of HalfCheetah's shape). Both sides are timed as they
train: drawing batches included, compiling apart. The two libraries take turns, and the best of the rounds counts, because a
shared machine only ever adds time. d3rlpy lives in its own virtual environment outside the checkout, made on first use.
The floor is the time the matrix products of one update need at the speed this machine reaches on such products alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

AGENTS = ("bc", "awac", "td3bc", "iql", "cql")
OBSERVATIONS, ACTIONS, ROWS, BATCH, WIDTH, DEPTH = 17, 6, 100_000, 256, 256, 2
COUNTS = {"cql": 60}  # timed updates a round; 400 for the others
TARGET = Path(__file__).parents[1] / "results" / "bench" / "agents.csv"


def make_data():
    """Random transitions in episodes of 1000, equal on both sides."""
    import numpy as np

    rng = np.random.default_rng(0)
    timeouts = np.arange(ROWS) % 1000 == 999
    return {
        "observations": rng.normal(size=(ROWS, OBSERVATIONS)).astype(np.float32),
        "actions": np.tanh(rng.normal(size=(ROWS, ACTIONS))).astype(np.float32),
        "rewards": rng.normal(size=ROWS).astype(np.float32),
        "terminals": np.zeros(ROWS, np.float32),
        "timeouts": timeouts.astype(np.float32),
    }


# -- d3rlpy's side, run by its own interpreter -----------------------------------------------------------------------


def time_d3rlpy(agent: str, threads: int) -> dict[str, float]:
    """Milliseconds an update: sampling a batch and updating, as `fit` does."""
    import logging

    import d3rlpy
    import structlog
    import torch

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    torch.set_num_threads(threads)
    columns = make_data()
    dataset = d3rlpy.dataset.MDPDataset(**columns)
    algorithm = d3rlpy_config(d3rlpy, agent).create(device=False)
    algorithm.build_with_dataset(dataset)
    count = max(5, COUNTS.get(agent, 400) // 2)

    def run(updates: int) -> float:
        started = time.perf_counter()
        for _ in range(updates):
            algorithm.update(dataset.sample_transition_batch(BATCH))
        return 1000 * (time.perf_counter() - started) / updates

    run(3)
    return {"ms": min(run(count) for _ in range(2)), "first_s": 0.0}


def d3rlpy_config(d3rlpy, agent: str):
    encoder = d3rlpy.models.encoders.VectorEncoderFactory([WIDTH] * DEPTH)
    actor_critic = {"actor_encoder_factory": encoder, "critic_encoder_factory": encoder}
    algos = d3rlpy.algos
    configs = {
        "bc": lambda: algos.BCConfig(batch_size=BATCH, encoder_factory=encoder),
        "awac": lambda: algos.AWACConfig(batch_size=BATCH, **actor_critic),
        "td3bc": lambda: algos.TD3PlusBCConfig(batch_size=BATCH, **actor_critic),
        "iql": lambda: algos.IQLConfig(
            batch_size=BATCH, value_encoder_factory=encoder, **actor_critic
        ),
        "cql": lambda: algos.CQLConfig(batch_size=BATCH, alpha_learning_rate=0.0, **actor_critic),
    }
    return configs[agent]()


# -- our side --------------------------------------------------------------------------------------------------------


def time_rlassay(agent: str, threads: int) -> dict[str, float]:
    """Milliseconds an update through `fitting.fit`; the first chunk, which compiles, is timed apart."""
    if threads == 1:
        from rlassay import runtime

        runtime.use_threads(1)
    import jax
    import numpy as np

    from rlassay.kernel import fitting

    made, settings, columns = prepare_agent(agent)
    each = made.updates_per_step
    count = COUNTS.get(agent, 400) // each

    def fit(state, start: int, chunks: int):
        return fitting.fit(
            made.step,
            state,
            columns,
            rows=len(columns.packed),
            start=start,
            steps=start + chunks * count,
            batch_size=settings.batch_size * each,
            seeds=[0],
            chunk=count,
        )

    started = time.perf_counter()
    state = jax.block_until_ready(fit(fitting.stack([made.init(0)]), 0, 1))
    first = time.perf_counter() - started
    times = []
    for chunk in range(1, 4):
        started = time.perf_counter()
        state = jax.block_until_ready(fit(state, chunk * count, 1))
        times.append(1000 * (time.perf_counter() - started) / (count * each))
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
        raise SystemExit(f"{agent} is not finite")
    flops = (
        product_flops(made.step, fitting.unstack(state, 0), columns, settings.batch_size * each)
        / each
    )
    return {
        "ms": min(times),
        "first_s": first,
        "gflop": flops / 1e9,
        "gflop_per_s": product_speed(),
    }


def prepare_agent(agent: str):
    import numpy as np

    from rlassay.agents import AGENTS, Shapes
    from rlassay.agents.columns import make_columns
    from rlassay.agents.training import make_settings
    from rlassay.data.dataset import Dataset

    changes = {"batch_size": BATCH, "width": WIDTH, "depth": DEPTH}
    settings = make_settings(agent, changes | ({"actor_depth": DEPTH} if agent == "awac" else {}))
    edge = np.ones(ACTIONS, np.float32)
    columns, _, _ = make_columns(
        Dataset.from_columns(**make_data()), AGENTS[agent], settings, -edge, edge
    )
    return AGENTS[agent].make(settings, Shapes(OBSERVATIONS, ACTIONS)), settings, columns


def product_flops(step, state, columns, batch: int) -> float:
    """Floating-point operations of all matrix products of one step, read from its jaxpr."""
    import jax
    import numpy as np

    from rlassay.kernel import fitting

    inputs = jax.tree.map(
        lambda leaf: leaf[0], fitting.draw_inputs(0, 0, 1, batch, ROWS // 2, None)
    )

    def count(jaxpr) -> float:
        total = 0.0
        for equation in jaxpr.eqns:
            if equation.primitive.name == "dot_general":
                (contract, _), _ = equation.params["dimension_numbers"]
                inner = np.prod([equation.invars[0].aval.shape[k] for k in contract])
                total += 2 * inner * np.prod(equation.outvars[0].aval.shape)
            rounds = equation.params["length"] if equation.primitive.name == "scan" else 1
            for value in equation.params.values():
                for part in value if isinstance(value, tuple | list) else [value]:
                    inner_jaxpr = getattr(part, "jaxpr", part)
                    total += rounds * count(inner_jaxpr) if hasattr(inner_jaxpr, "eqns") else 0.0
        return total

    return count(jax.make_jaxpr(step)(state, columns, inputs).jaxpr)


def product_speed() -> float:
    """GFLOP/s of products of the size that dominates: (256, 256) times (256, 256), many in one program."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((BATCH, WIDTH)) / WIDTH

    @jax.jit
    def many(x, w):
        return jax.lax.fori_loop(0, 200, lambda _, y: y @ w, x)

    jax.block_until_ready(many(x, x))
    best = math.inf
    for _ in range(5):
        started = time.perf_counter()
        jax.block_until_ready(many(x, x))
        best = min(best, time.perf_counter() - started)
    return 200 * 2 * BATCH * WIDTH * WIDTH / best / 1e9


# -- the run ---------------------------------------------------------------------------------------------------------


def measure(python: Path | str, side: str, agent: str, threads: int) -> dict[str, float]:
    """One side in a fresh process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    arguments = [
        str(python),
        __file__,
        "--side",
        side,
        "--agents",
        agent,
        "--threads",
        str(threads),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{side} {agent} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(agents: list[str], threads: list[int], rounds: int) -> list[dict[str, object]]:
    """A row for every agent and thread count."""
    from peers import D3RLPY, peer_python

    python, rows = peer_python("d3rlpy", D3RLPY), []
    for count in threads:
        for agent in agents:
            pairs = [
                (
                    measure(sys.executable, "rlassay", agent, count),
                    measure(python, "d3rlpy", agent, count),
                )
                for _ in range(rounds)
            ]
            rows.append(row(agent, count, [p[0] for p in pairs], [p[1] for p in pairs]))
            print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def row(agent: str, threads: int, ours: list[dict], theirs: list[dict]) -> dict[str, object]:
    from peers import D3RLPY

    best, other = min(o["ms"] for o in ours), min(t["ms"] for t in theirs)
    floor = 1000 * ours[0]["gflop"] / max(o["gflop_per_s"] for o in ours)
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
        "floor_ms": round(floor, 3),
        "floor_share": round(floor / best, 2),
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
    parser.add_argument("--side", choices=["rlassay", "d3rlpy"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    agents, threads = (
        options.agents.split(","),
        sorted({int(t) for t in options.threads.split(",")}),
    )
    if options.side:
        timed = time_rlassay if options.side == "rlassay" else time_d3rlpy
        print(json.dumps(timed(agents[0], threads[0])))
        return
    rows = compare(agents, threads, options.rounds)
    from rlassay.study.grid.files import write_table

    about = {"command": "python benchmarks/bench_agents.py", "rounds": options.rounds}
    write_table(options.out, rows, list(rows[0]), about)
    for count in threads:
        speedups = [float(str(r["speedup"])) for r in rows if r["threads"] == count]
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        print(f"{count} threads: geometric mean of the speedups {mean:.2f}")


if __name__ == "__main__":
    main()
