"""Make the bundled samples: three graded Hopper-v5 datasets from real rollouts of actors this project trained.

    python scripts/make_samples.py [--zoo DIR] [--seed K]

Each has at least 15,000 transitions and 42 complete episodes, so that the critic's diagnosis has 20 held-out ones: whole
episodes only, with exploration noise. Next observations are left out (they are the next rows'), which keeps the three
below 5 MB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rlassay import formats
from rlassay.collect.graded import RolloutSettings, roll_out, summarise
from rlassay.collect.recipes import Part, Recipe
from rlassay.collect.sources import Actors, ZooActors
from rlassay.data.dataset import Dataset

ENVIRONMENT, ROWS, EPISODES = "Hopper-v5", 15_000, 42
TARGET = Path(__file__).parent.parent / "src" / "rlassay" / "samples"
SAMPLES = {
    "random": 0,
    "medium": None,
    "expert": 1_000_000,
}  # training steps; None: the zoo's medium


def whole_episodes(actors: Actors, part: Part, name: str) -> Dataset:
    """The shortest run of complete episodes with enough rows."""
    recipe = Recipe(name, (part,), f"{name} sample")
    rolled = roll_out(actors, recipe, RolloutSettings(transitions=1_000 * (EPISODES + 1)))
    lengths = rolled.episode_lengths[:-1].cumsum()  # the last episode was cut by the row count
    count = max(int(np.searchsorted(lengths, ROWS)) + 1, EPISODES)
    chosen = rolled.select(np.arange(count))
    return Dataset.from_columns(
        observations=chosen.observations,
        actions=chosen.actions,
        rewards=chosen.rewards,
        terminals=chosen.terminals,
        timeouts=chosen.timeouts,
        origin=rolled.origin,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zoo", type=Path, default=Path("zoo"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    actors = ZooActors.open(arguments.zoo, ENVIRONMENT)
    medium = actors.manifest["environments"][ENVIRONMENT]["replay"]["medium_step"]
    for name, step in SAMPLES.items():
        part = Part(arguments.seed, medium if step is None else step)
        data = whole_episodes(actors, part, name)
        path = TARGET / f"hopper-{name}-v5.hdf5"
        path.unlink(missing_ok=True)
        formats.save(data, path)
        about = summarise(data, path)
        print(
            name,
            part,
            about["transitions"],
            about["episodes"],
            about["normalised"],
            path.stat().st_size,
        )


if __name__ == "__main__":
    main()
