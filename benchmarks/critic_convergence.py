"""How near does each critic come to the truth? Presets `default` and `paper`, the latter with both target rates.

    python benchmarks/critic_convergence.py [PATH...] [--seeds N] [--out results/critic]

Without a PATH the bundled samples are used. For every dataset and critic the bias on held-out episodes is written, the
share of the Monte-Carlo mean that the critic reaches, its correlation with the returns, its verdict and its seconds.
"""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import sys
import time
from pathlib import Path

import numpy as np

import rlassay
from rlassay import runtime
from rlassay.critic import PAPER, CriticSettings
from rlassay.critic.fit import fit_critic
from rlassay.engine.files import write_atomically, write_json
from rlassay.samples import paths
from rlassay.scoring.card import card_software
from rlassay.settings import change

CRITICS = {
    "default": CriticSettings(),
    "paper, target_rate 1": PAPER,
    "paper, target_rate 0.005": change(PAPER, {"target_rate": 0.005}),
}
COLUMNS = (
    "mean_value",
    "returns_mean",
    "reached",
    "bias",
    "bias_standard_error",
    "tolerance",
    "correlation",
    "change_last_tenth",
    "bellman_residual",
    "mixture_gap",
    "mixture_gap_rms",
    "converged",
    "reason",
    "held_out_episodes",
    "seconds",
)


def measure(data: rlassay.Dataset, settings: CriticSettings, seed: int) -> dict:
    """The critic's own diagnosis, with the share of the true mean it reaches on held-out rows."""
    began = time.perf_counter()
    report = dict(fit_critic(data, settings, (seed,)).critic.diagnosis)
    report["seconds"] = round(time.perf_counter() - began, 2)
    if abs(report.get("returns_mean", 0.0)) > 0.25 * report.get("returns_deviation", np.inf):
        report["reached"] = 1 + report["bias"] / report["returns_mean"]
    return {name: _short(report.get(name, "")) for name in COLUMNS}


def _short(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/critic"))
    chosen = parser.parse_args()
    runtime.keep_compiled_programs()
    rows = []
    for path in chosen.paths or [str(path) for path in paths()]:
        data = rlassay.load(path)
        for name, settings in CRITICS.items():
            for seed in range(chosen.seeds):
                found = measure(data, settings, seed)
                rows.append({"dataset": Path(path).stem, "critic": name, "seed": seed, **found})
                print(rows[-1], file=sys.stderr, flush=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(chosen.out / "convergence.csv", text.getvalue())
    write_json(
        chosen.out / "convergence.json",
        {
            "command": shlex.join(["python", "benchmarks/critic_convergence.py", *sys.argv[1:]]),
            "seeds": list(range(chosen.seeds)),
            "settings": {
                name: {**settings.__dict__, "hidden": list(settings.hidden)}
                for name, settings in CRITICS.items()
            },
            "software": card_software(),
        },
    )


if __name__ == "__main__":
    main()
