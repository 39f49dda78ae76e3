"""Do the agents learn? Three graded sets and random data, all seven agents: `python benchmarks/learns.py`.

100,000 transitions each of a weak policy, a strong one, half of each, and uniform random actions, rolled out with noise 0.1 from the
actors of a TD3 run (`rlassay collect`) or of the zoo. Writes results/agents/learns.csv (a row a run) and learns.json: whether BC reaches 90 % of the
behaviour on the strong set, whether IQL and TD3+BC beat BC on the mix, and whether every run stayed finite.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import sys
from pathlib import Path

import numpy as np

from rlassay.agents import SEVEN
from rlassay.collect.graded import RolloutSettings, roll_out
from rlassay.collect.recipes import RANDOM_STEP, Part, Recipe, medium_step
from rlassay.collect.sources import Actors, RunActors, ZooActors
from rlassay.dataset import Dataset
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore
from rlassay.io import load, save
from rlassay.oracle import Oracle, oracle
from rlassay.runtime import state_folder

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "agents"
REACHED = 0.9  # of the behaviour's return, for BC on the strong set


def main() -> None:
    options = parse()
    rows, claims = [], {}
    for env_id in options.envs.split(","):
        actors = find_actors(env_id, options)
        sets = datasets(actors, options)
        results = {
            name: run_oracle(name, path, data, env_id, options)
            for name, (path, data) in sets.items()
        }
        behaviour = {name: float(data.episode_returns.mean()) for name, (_, data) in sets.items()}
        rows += [
            row
            for name, result in results.items()
            for row in rows_of(name, result, behaviour[name])
        ]
        claims[env_id] = judge(results, behaviour)
    write(rows, claims, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", default="Hopper-v5,HalfCheetah-v5")
    parser.add_argument("--runs", type=Path, default=state_folder() / "collect")
    parser.add_argument("--zoo", type=Path, help="take the zoo's actors instead of a run's")
    parser.add_argument(
        "--seed", type=int, help="of the run whose actors are used; default: the first"
    )
    parser.add_argument(
        "--weak", type=int, help="training step of the weak actor; default: D4RL's rule for medium"
    )
    parser.add_argument("--strong", type=int, help="of the strong one; default: the last")
    parser.add_argument("--transitions", type=int, default=100_000)
    parser.add_argument("--agents", default=",".join(SEVEN))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--profile", default="lite")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def find_actors(env_id: str, options: argparse.Namespace) -> Actors:
    if options.zoo:
        return ZooActors.open(options.zoo, env_id)
    folders = sorted((options.runs / env_id).glob("seed*"))
    return RunActors(env_id, {int(folder.name[4:].split("-")[0]): folder for folder in folders})


def datasets(actors: Actors, options: argparse.Namespace) -> dict[str, tuple[Path, Dataset]]:
    """The four sets, rolled out once and kept in the run store."""
    seed = actors.seeds()[0] if options.seed is None else options.seed
    weak = Part(seed, options.weak or medium_step(actors, seed))
    strong = Part(seed, options.strong or max(actors.steps(seed)))
    parts = {
        "random": (Part(seed, RANDOM_STEP),),
        "weak": (weak,),
        "mix": (weak, strong),
        "strong": (strong,),
    }
    sets = {}
    for name, chosen in parts.items():
        label = "-".join(str(part.step) for part in chosen)
        path = (
            RunStore().root
            / "learns"
            / f"{actors.env_id}-seed{seed}-{label}-{options.transitions}.npz"
        )
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            recipe = Recipe(name, chosen, "learns")
            save(roll_out(actors, recipe, RolloutSettings(transitions=options.transitions)), path)
        sets[name] = path, load(path)
    return sets


def run_oracle(
    name: str, path: Path, data: Dataset, env_id: str, options: argparse.Namespace
) -> Oracle:
    changes = dict(pair.split("=", 1) for pair in options.set)
    return oracle(
        data, env_id, path=path, agents=options.agents.split(","), seeds=options.seeds, profile=options.profile,
        changes=changes, engine=LocalEngine(options.workers),
        report=lambda done, total, news: print(f"{env_id} {name} {done}/{total} {news}", file=sys.stderr, flush=True),
    )  # fmt: skip


def rows_of(name: str, result: Oracle, behaviour: float) -> list[dict[str, object]]:
    return [
        {
            "env_id": result.env_id,
            "dataset": name,
            "agent": agent,
            "seed": run["seed"],
            "updates": run["updates"],
            "behaviour_return": round(behaviour, 1),
            "return": round(run["return"]["value"], 1),
            "score": round(run["score"]["value"], 2),
            "finite": run["diverged_at"] is None,
            "seconds": round(run["seconds"]["total"]),
        }
        for agent, runs in result.runs.items()
        for run in runs
    ]


def judge(results: dict[str, Oracle], behaviour: dict[str, float]) -> dict[str, object]:
    """The claims, each with its numbers."""

    def returns(dataset: str, agent: str) -> np.ndarray:
        return np.array([run["return"]["value"] for run in results[dataset].runs.get(agent, [])])

    claims: dict[str, object] = {"behaviour": {k: round(v, 1) for k, v in behaviour.items()}}
    share = float(returns("strong", "bc").mean()) / behaviour["strong"]
    claims["bc_on_strong"] = {"share_of_behaviour": round(share, 3), "reached": share >= REACHED}
    for agent in ("iql", "td3bc"):
        own, cloned = returns("mix", agent), returns("mix", "bc")
        claims[f"{agent}_against_bc_on_mix"] = {
            agent: round(float(own.mean()), 1),
            "bc": round(float(cloned.mean()), 1),
            "beats": bool(own.mean() > cloned.mean()),
            "every_seed_beats_every_seed": bool(own.min() > cloned.max()),
        }
    diverged = [
        f"{agent} seed {run['seed']} on {name}"
        for name, result in results.items()
        for agent, runs in result.runs.items()
        for run in runs
        if run["diverged_at"] is not None
    ]
    failures = [f for result in results.values() for f in result.failures]
    claims["all_finite"] = {
        "true": not diverged and not failures,
        "diverged": diverged,
        "failures": failures,
    }
    return claims


def write(
    rows: list[dict[str, object]], claims: dict[str, object], options: argparse.Namespace
) -> None:
    from rlassay.agents.run import software
    from rlassay.oracle import settings_of
    from rlassay.settings import flatten

    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "learns.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    changes = dict(pair.split("=", 1) for pair in options.set)
    settings = settings_of(options.agents.split(","), options.profile, changes)
    record = {
        "command": shlex.join(["python", "benchmarks/learns.py", *sys.argv[1:]]),
        "claims": claims,
        "seeds": options.seeds,
        "settings": {agent: flatten(chosen) for agent, chosen in settings.items()},
        "software": software(),
    }
    (options.out / "learns.json").write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    print(json.dumps(claims, indent=1))


if __name__ == "__main__":
    main()
