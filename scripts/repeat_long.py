"""Repeat the beginning of one committed long run of each agent with the present code, and say whether it is bit-equal.

    python scripts/repeat_long.py                                  # the first evaluation of six runs
    python scripts/repeat_long.py --dataset HalfCheetah-v5/seed-mix --evaluations 2

Before a later commit may continue the grid of the long oracle, its runs have to be those of the commit that began it. A
run is trained with the settings of all 150,000 updates and stopped after its first evaluations, whose scores have nine
digits in `results/long/curves.csv`. Exit code 1 where one differs. Another processor may round otherwise: repeat a run of
this machine's.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIGITS = 9  # of the scores in the table


class Enough(Exception):
    """The evaluations that were asked for are there."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="Hopper-v5/fresh-seed-mix", help="ENVIRONMENT/NAME")
    parser.add_argument("--evaluations", type=int, default=1)
    asked = parser.parse_args()

    from rlassay.runtime import use_threads

    use_threads(1)  # as the workers of the grid
    environment, name = asked.dataset.split("/")
    known = committed(environment, name)
    equal = True
    for agent, curve in known.items():
        again = beginning(environment, name, agent, asked.evaluations)
        same = [shown(score) == shown(curve[updates]) for updates, score in again.items()]
        equal &= all(same)
        told = "bit-equal" if all(same) else "DIFFERS"
        print(f"{asked.dataset} {agent}, {max(again):,} updates: {told}", flush=True)
    sys.exit(0 if equal and known else 1)


def committed(environment: str, name: str) -> dict[str, dict[int, float]]:
    """The evaluations of the committed runs with seed 0, by agent and updates."""
    found: dict[str, dict[int, float]] = {}
    with open(ROOT / "results" / "long" / "curves.csv", newline="") as file:
        for row in csv.DictReader(file):
            mine = (row["environment"], row["dataset"], row["seed"]) == (environment, name, "0")
            if mine and row["score"]:
                found.setdefault(row["agent"], {})[int(row["updates"])] = float(row["score"])
    return found


def beginning(environment: str, name: str, agent: str, evaluations: int) -> dict[int, float]:
    """The first evaluations of a run, trained here: score by updates."""
    from rlassay.agents.training import Trainer
    from rlassay.formats import load
    from rlassay.oracle.profiles import settings_of
    from rlassay.study.grid.data import study_data
    from rlassay.study.grid.plan import LONG

    data = load(study_data(environment, [name], LONG, ROOT / "zoo")[name].path)
    settings = settings_of([agent], "long", {})[agent]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(agent, data, environment, Path(folder), settings, 0, None)

        def stop(updates: int, news: str) -> None:
            if len(trainer.run.evaluations) == evaluations:
                raise Enough

        try:
            trainer.train(stop, [])
        except Enough:
            pass
        finally:
            trainer.judge.close()
    return {each.update: trainer.run.normalised(each.mean) for each in trainer.run.evaluations}


def shown(score: float) -> str:
    return f"{score:.{DIGITS}g}"


if __name__ == "__main__":
    main()
