"""Train DQN on CartPole-v1 and Acrobot-v1, two seeds each, and add the actors to the zoo; resumable.

    python scripts/train_discrete_zoo.py [--seeds 0 1] [--environments CartPole-v1 ...] [--zoo zoo]

A run whose last five evaluations are not above 400 (CartPole) or -120 (Acrobot) in the mean is named and left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rlassay.collect import runs
from rlassay.collect.dqn import describe
from rlassay.collect.settings import CollectSettings, DQNSettings, levels_of
from rlassay.collect.sources import RunActors
from rlassay.collect.zoo import add_to_zoo
from rlassay.runtime import use_threads

GOOD = {"CartPole-v1": 400.0, "Acrobot-v1": -120.0}  # mean return at the end
ENDS = 5  # evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zoo", type=Path, default=Path("zoo"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--environments", nargs="+", default=list(GOOD))
    arguments = parser.parse_args()
    use_threads(1)
    for env_id in arguments.environments:
        settings = DQNSettings().for_environment(env_id)
        for seed in arguments.seeds:
            runs.train_run(env_id, seed, settings)
        store_good(arguments.zoo, runs.run_actors(env_id, arguments.seeds, settings), settings)


def store_good(zoo: Path, actors: RunActors, settings: DQNSettings) -> None:
    """Add the runs that learned; the others are named."""
    ends = {seed: [value for _, value in actors.curve(seed)[-ENDS:]] for seed in actors.seeds()}
    means = {seed: sum(values) / len(values) for seed, values in ends.items()}
    for seed, mean in means.items():
        print(f"{actors.env_id} seed {seed}: {mean:.1f} at the end", flush=True)
    good = {s: f for s, f in actors.folders.items() if means[s] > GOOD[actors.env_id]}
    if good:
        add_to_zoo(
            zoo,
            RunActors(actors.env_id, good, collector=actors.collector),
            levels=levels_of(CollectSettings(), settings),
            settings=describe(settings),
            replay_seed=min(good),
        )


if __name__ == "__main__":
    main()
