"""What the benchmarks of agents share: both libraries in fresh processes, in turns, and the best of the rounds.

Imported by d3rlpy's interpreter too, so nothing of ours is imported before it is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Timed = dict[str, float]
Row = dict[str, object]


def time_peer(
    d3rlpy: Any, config: Any, columns: dict, batch: int, count: int, **space: Any
) -> Timed:
    """Milliseconds an update of d3rlpy: sampling a batch and updating, as `fit` does."""
    dataset = d3rlpy.dataset.MDPDataset(**columns, **space)
    algorithm = config.create(device=False)
    algorithm.build_with_dataset(dataset)

    def run(updates: int) -> float:
        started = time.perf_counter()
        for _ in range(updates):
            algorithm.update(dataset.sample_transition_batch(batch))
        return 1000 * (time.perf_counter() - started) / updates

    run(3)
    return {"ms": min(run(max(5, count // 2)) for _ in range(2)), "first_s": 0.0}


def quiet_peer(threads: int) -> Any:
    """d3rlpy, silent and on so many threads."""
    import logging

    import d3rlpy
    import structlog
    import torch

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    torch.set_num_threads(threads)
    return d3rlpy


def time_ours(made: Any, columns: Any, batch: int, count: int) -> tuple[Timed, Any]:
    """Milliseconds an update through `fitting.fit`, and the state; the first chunk, which compiles, is timed apart."""
    import jax

    from rlassay.kernel import fitting

    each = made.updates_per_step
    steps = count // each

    def chunk_after(state: Any, start: int) -> Any:
        return fitting.fit(
            made.step,
            state,
            columns,
            rows=len(columns.packed),
            start=start,
            steps=start + steps,
            batch_size=batch * each,
            seeds=[0],
            chunk=steps,
        )

    started = time.perf_counter()
    state = jax.block_until_ready(chunk_after(fitting.stack([made.init(0)]), 0))
    first, times = time.perf_counter() - started, []
    for chunk in range(1, 4):
        started = time.perf_counter()
        state = jax.block_until_ready(chunk_after(state, chunk * steps))
        times.append(1000 * (time.perf_counter() - started) / (steps * each))
    return {"ms": min(times), "first_s": first}, state


def measure(script: str, python: Path | str, side: str, agent: str, threads: int) -> Timed:
    """One side in a fresh process."""
    options = ["--side", side, "--agents", agent, "--threads", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [str(python), script, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{side} {agent} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(
    script: str,
    agents: Sequence[str],
    threads: Sequence[int],
    rounds: int,
    row: Callable[[str, int, list[Timed], list[Timed]], Row],
) -> list[Row]:
    """A row for every agent and thread count."""
    from peers import D3RLPY, peer_python

    python, rows = peer_python("d3rlpy", D3RLPY), []
    for count in threads:
        for agent in agents:
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(measure(script, sys.executable, "rlassay", agent, count))
                theirs.append(measure(script, python, "d3rlpy", agent, count))
            rows.append(row(agent, count, ours, theirs))
            print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def side_by_side(ours: list[Timed], theirs: list[Timed]) -> Row:
    """The best of both, and how much faster ours is."""
    best, other = min(o["ms"] for o in ours), min(t["ms"] for t in theirs)
    return {
        "rlassay_ms": round(best, 3),
        "d3rlpy_ms": round(other, 3),
        "speedup": round(other / best, 2),
        "compile_s": round(min(o["first_s"] for o in ours), 1),
    }


def machine() -> Row:
    """Versions and load that every row carries."""
    from peers import D3RLPY

    return {
        "d3rlpy": D3RLPY.partition("==")[2],
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
    }


def options(description: str | None, agents: Sequence[str], target: Path) -> argparse.Namespace:
    """What both benchmarks may be asked; `agents` and `threads` come as lists."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--agents", default=",".join(agents))
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=target)
    parser.add_argument(
        "--ours", action="store_true", help="time our side alone, and write nothing"
    )
    parser.add_argument("--side", choices=["rlassay", "d3rlpy"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.agents = asked.agents.split(",")
    asked.threads = sorted({int(count) for count in asked.threads.split(",")})
    return asked


def run(
    script: str,
    asked: argparse.Namespace,
    sides: dict[str, Callable[[str, int], Timed]],
    row: Callable[[str, int, list[Timed], list[Timed]], Row],
) -> list[Row]:
    """One side for a child process, our side alone, or all rows, written as a table."""
    if asked.side:
        print(json.dumps(sides[asked.side](asked.agents[0], asked.threads[0])))
        return []
    if asked.ours:
        for agent in asked.agents:
            timed = measure(script, sys.executable, "rlassay", agent, asked.threads[0])
            print(agent, json.dumps(timed))
        return []
    rows = compare(script, asked.agents, asked.threads, asked.rounds, row)
    from rlassay.study.grid.files import write_table

    about = {"command": f"python benchmarks/{Path(script).name}", "rounds": asked.rounds}
    write_table(asked.out, rows, list(rows[0]), about)
    return rows
