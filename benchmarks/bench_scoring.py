"""Scoring against the same work in eager PyTorch: 10,000 critic steps and 10,000 dual steps, batch 256, one hidden
layer of 256, 17 + 6 dimensions; cold (with compilation, empty cache) and warm, one seed and three.

python benchmarks/bench_scoring.py        # writes results/bench/scoring.csv
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from peers import peer_python

STEPS, REPEATS = 10_000, 3
FOLDER = Path(__file__).parent


def measure(python: str, script: str, work: str) -> dict[str, float]:
    """Run one peer in a fresh process, without JAX's persistent cache."""
    arguments = [python, str(FOLDER / script), work, str(STEPS)]
    environment = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false"}
    if script == "scoring_ours.py":
        environment["OPENBLAS_NUM_THREADS"] = "1"  # for the arithmetic floor
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"a peer failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def compare(work: str, torch_python: str) -> dict[str, float | str]:
    """Alternate the peers, so that other load on the machine meets both."""
    pairs = [
        (
            measure(sys.executable, "scoring_ours.py", work),
            measure(torch_python, "scoring_torch.py", work),
        )
        for _ in range(REPEATS)
    ]
    ours, theirs = medians([pair[0] for pair in pairs]), medians([pair[1] for pair in pairs])
    return {
        "work": work,
        "steps": STEPS,
        "rlassay_cold_seconds": ours["cold"],
        "rlassay_warm_seconds": ours["warm"],
        "rlassay_three_seeds_cold_seconds": ours["three_seeds_cold"],
        "rlassay_three_seeds_seconds": ours["three_seeds"],
        "torch_cold_seconds": theirs["cold"],
        "torch_warm_seconds": theirs["warm"],
        "torch_threads": theirs["threads"],
        "arithmetic_seconds": ours["arithmetic"],
        "ratio_cold": statistics.median(b["cold"] / a["cold"] for a, b in pairs),
        "ratio_warm": statistics.median(b["warm"] / a["warm"] for a, b in pairs),
        "ratio_warm_cpu": statistics.median(b["warm_cpu"] / a["warm_cpu"] for a, b in pairs),
        "three_seeds_over_one": statistics.median(a["three_seeds"] / a["warm"] for a, _ in pairs),
        "warm_over_arithmetic": statistics.median(a["warm"] / a["arithmetic"] for a, _ in pairs),
    }


def main() -> None:
    from rlassay.study.grid.files import write_table

    torch_python = str(peer_python("torch", "numpy"))
    rows = []
    for work in ("critic", "dual"):
        rows.append(compare(work, torch_python))
        print(rows[-1], flush=True)
    closed = medians([measure(sys.executable, "scoring_ours.py", "closed") for _ in range(REPEATS)])
    print(closed)
    about = {
        "command": "python benchmarks/bench_scoring.py",
        "repeats": REPEATS,
        "seconds_given_a_critic_20000_transitions": closed,
    }
    write_table(Path("results/bench/scoring.csv"), rows, list(rows[0]), about)


if __name__ == "__main__":
    main()
