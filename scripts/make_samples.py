"""Make the bundled samples: three graded Hopper-v5 datasets from real rollouts of actors this project trained.

    python scripts/make_samples.py [--zoo DIR] [--seed K]

Each has at least 15,000 transitions and 15 complete episodes: whole episodes only, with exploration noise.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from rlassay import io
from rlassay.collect.graded import RolloutSettings, roll_out, summarise
from rlassay.collect.recipes import Part, Recipe
from rlassay.collect.sources import ZooActors

ENVIRONMENT, ROWS, EPISODES = "Hopper-v5", 15_000, 15
TARGET = Path(__file__).parent.parent / "src" / "rlassay" / "samples"
SAMPLES = {"random": 0, "medium": None, "expert": 1_000_000}  # training steps; None: the zoo's medium


def whole_episodes(actors: ZooActors, part: Part, name: str):
    """The shortest run of complete episodes with enough rows."""
    rolled = roll_out(actors, Recipe(name, (part,), f"{name} sample"), RolloutSettings(transitions=18_000))
    lengths = rolled.episode_lengths[:-1].cumsum()  # the last episode was cut by the row count
    count = max(int(np.searchsorted(lengths, ROWS)) + 1, EPISODES)
    chosen = rolled.select(np.arange(count))
    return type(chosen)(chosen._columns, chosen.episode_starts, replace(rolled.origin, notes=()))


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
        io.save(data, path)
        about = summarise(data, path)
        print(name, part, about["transitions"], about["episodes"], about["normalised"], path.stat().st_size)


if __name__ == "__main__":
    main()
