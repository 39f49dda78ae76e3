"""Build the zoo from finished TD3 runs, and the evidence about them under results/collect/.

    python scripts/build_zoo.py [--seeds 0 1] [--environments Hopper-v5 ...]

Runs that are not finished are named and left out. Writes zoo/, results/collect/curves.csv (every evaluation of every
run, normalised), levels.csv (20 fresh episodes an actor), ordered.csv (each level over all seeds), runs.csv and curves.svg
(each run beside the public curves of Stable-Baselines3's TD3).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from rlassay.collect import runs
from rlassay.collect.graded import RolloutSettings, roll_out
from rlassay.collect.progress import settled_step
from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe
from rlassay.collect.settings import PAPER_LEVELS, TD3Settings
from rlassay.collect.sources import RunActors, ZooActors
from rlassay.collect.td3 import describe
from rlassay.collect.zoo import add_hashes, add_to_zoo, read_manifest
from rlassay.data.references import reference_for
from rlassay.engine.files import replacing
from rlassay.study.grid.files import write_table
from rlassay.study.grid.plan import ENVIRONMENTS

COMMAND = "python scripts/build_zoo.py"
# Normalised evaluation of DLR-RM/rl-trained-agents (commit cd35bde), TD3, 20 episodes, -v3 environments.
PUBLIC_STEPS = (100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 800_000, 1_000_000)
PUBLIC = {
    "HalfCheetah-v5": (44.3, 60.5, 70.6, 80.5, 79.2, 83.8, 84.3, 85.9),
    "Hopper-v5": (11.4, 44.6, 82.7, 105.4, 109.2, 105.9, 107.5, 111.4),
    "Walker2d-v5": (8.5, 51.2, 66.3, 91.2, 97.6, 97.7, 90.7, 87.2),
}
ACCEPTED_SHARE = 0.6  # of the public curve at the end; a run below is repeated with another seed


def finished_actors(env_id: str, seeds: list[int], settings: TD3Settings) -> RunActors:
    """Actors of the runs that reached the end; the others are named."""
    folders = {seed: runs.run_folder(env_id, seed, settings) for seed in seeds}
    done = {seed: f for seed, f in folders.items() if settled_step(f) >= settings.steps}
    for seed in sorted(set(folders) - set(done)):
        print(
            f"{env_id} seed {seed}: at {settled_step(folders[seed]):,} of {settings.steps:,} steps"
        )
    return RunActors(env_id, done)


def trained_with_td3(manifest: dict) -> dict:
    """The manifest without the actors of DQN, whose levels and returns are their own (train_discrete_zoo.py)."""
    found = manifest["environments"].items()
    return {"environments": {k: e for k, e in found if e.get("collector", "td3") == "td3"}}


def curve_rows(manifest: dict) -> list[dict]:
    rows = []
    for env_id, environment in manifest["environments"].items():
        reference = reference_for(env_id)
        for seed, run in environment["runs"].items():
            for step, value in run["curve"]:
                score = None if reference is None else round(float(reference.normalise(value)), 3)
                rows.append(
                    {
                        "environment": env_id,
                        "seed": int(seed),
                        "step": step,
                        "return": value,
                        "score": score,
                    }
                )
    return rows


def level_rows(manifest: dict) -> list[dict]:
    return [
        {"environment": env_id, "seed": int(seed), "step": int(step), **without_hash(actor)}
        for env_id, environment in manifest["environments"].items()
        for seed, run in environment["runs"].items()
        for step, actor in run["actors"].items()
        if int(step) in PAPER_LEVELS
    ]


def without_hash(actor: dict) -> dict:
    return {name: value for name, value in actor.items() if name != "sha256"}


def random_level(zoo: Path, env_id: str) -> tuple[float, float]:
    """Mean return of uniformly random actions and its standard error, from the episodes of 20,000 steps."""
    actors = ZooActors.open(zoo, env_id)
    part = Part(actors.seeds()[0], RANDOM_STEP)
    data = roll_out(actors, Recipe("random", (part,), "level 0"), RolloutSettings(20_000))
    returns = data.episode_returns
    return float(returns.mean()), float(returns.std(ddof=1) / np.sqrt(len(returns)))


def trained_level(actors: list[dict]) -> tuple[float, float]:
    """The same for the actors of all seeds at one level, from their evaluations."""
    error = float(np.linalg.norm([actor["standard_error"] for actor in actors])) / len(actors)
    return float(np.mean([actor["mean_return"] for actor in actors])), error


def ordered_levels(manifest: dict, zoo: Path) -> list[dict]:
    """Mean over seeds at every level, with a 95 % interval over episodes, and whether training had gone backwards."""
    rows = []
    for env_id, environment in manifest["environments"].items():
        reference, lowest_before = reference_for(env_id), -np.inf
        for step in PAPER_LEVELS:
            trained = [run["actors"][str(step)] for run in environment["runs"].values() if step]
            mean, error = trained_level(trained) if step else random_level(zoo, env_id)
            bounds = mean + 1.96 * error * np.array([-1, 0, 1])
            low, score, high = bounds if reference is None else reference.normalise(bounds)
            rows.append(
                {
                    "environment": env_id,
                    "level": step,
                    "seeds": len(trained),
                    "score": round(float(score), 2),
                    "low": round(float(low), 2),
                    "high": round(float(high), 2),
                    "regressed": "yes" if high < lowest_before else "no",
                }
            )
            lowest_before = low
    return rows


def half_precision(manifest: dict) -> dict[str, float]:
    """What rounding to half precision did to the actors' returns, in normalised points."""
    changes = []
    for env_id, environment in manifest["environments"].items():
        reference = reference_for(env_id)
        for run in environment["runs"].values() if reference is not None else ():
            for actor in run["actors"].values():
                stored, full = actor["mean_return"], actor["mean_return_full_precision"]
                changes.append(float(reference.normalise(stored) - reference.normalise(full)))
    return {
        "actors": len(changes),
        "mean_change": float(np.mean(changes)),
        "standard_error": float(np.std(changes, ddof=1) / np.sqrt(len(changes))),
        "median_absolute_change": float(np.median(np.abs(changes))),
        "largest_absolute_change": float(np.max(np.abs(changes))),
    }


def verdicts(manifest: dict) -> list[dict]:
    """Each run's end beside the public curve's; the last five evaluations are averaged."""
    rows = []
    for env_id, environment in manifest["environments"].items():
        reference = reference_for(env_id)
        if reference is None or env_id not in PUBLIC:
            continue
        for seed, run in environment["runs"].items():
            ends = [value for _, value in run["curve"][-5:]]
            score = float(reference.normalise(sum(ends) / len(ends)))
            share = score / PUBLIC[env_id][-1]
            rows.append(
                {
                    "environment": env_id,
                    "seed": int(seed),
                    "score_at_end": round(score, 2),
                    "public": PUBLIC[env_id][-1],
                    "share": round(share, 3),
                    "accepted": share >= ACCEPTED_SHARE,
                }
            )
    return rows


def draw_curves(rows: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = sorted({row["environment"] for row in rows})
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.4), squeeze=False)
    for axis, env_id in zip(axes[0], names, strict=True):
        for seed in sorted({row["seed"] for row in rows if row["environment"] == env_id}):
            run = [r for r in rows if r["environment"] == env_id and r["seed"] == seed]
            steps, scores = [r["step"] / 1e3 for r in run], [r["score"] for r in run]
            axis.plot(steps, scores, lw=0.9, label=f"seed {seed}")
        public = PUBLIC.get(env_id)
        if public:
            axis.plot([s / 1e3 for s in PUBLIC_STEPS], public, "k--", lw=1.2, label="SB3 zoo, -v3")
        axis.set(
            title=env_id,
            xlabel="environment steps (thousands)",
            ylabel="normalised return (0 to 100)",
        )
        axis.legend(fontsize=8)
    figure.tight_layout()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zoo", type=Path, default=Path("zoo"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS))
    arguments = parser.parse_args()
    settings = replace(TD3Settings(), steps=max(PAPER_LEVELS))
    for env_id in arguments.environments:
        actors = finished_actors(env_id, arguments.seeds, settings)
        if actors.seeds():
            first = actors.seeds()[0]
            known = read_manifest(arguments.zoo)["environments"].get(env_id, {}).get("replay", {})
            add_to_zoo(
                arguments.zoo,
                actors,
                levels=PAPER_LEVELS,
                settings=describe(settings),
                replay_seed=known.get("seed", first),
            )
    add_hashes(arguments.zoo)
    manifest, target = trained_with_td3(read_manifest(arguments.zoo)), Path("results/collect")
    about = {"command": COMMAND, "settings": describe(settings)}
    curves, levels, ends = curve_rows(manifest), level_rows(manifest), verdicts(manifest)
    write_table(
        target / "curves.csv", curves, ["environment", "seed", "step", "return", "score"], about
    )
    write_table(target / "levels.csv", levels, list(levels[0]), about)
    write_table(target / "runs.csv", ends, list(ends[0]), about)
    ordered = ordered_levels(manifest, arguments.zoo)
    write_table(target / "ordered.csv", ordered, list(ordered[0]), about)
    precision = half_precision(manifest)
    write_table(target / "precision.csv", [precision], list(precision), about)
    draw_curves(curves, target / "curves.svg")
    for row in ends:
        print(row)


if __name__ == "__main__":
    main()
