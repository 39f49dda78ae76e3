"""Train the runs behind the zoo: TD3 on three environments, two seeds each, one run a core; resumable.

    python scripts/train_zoo.py [--seeds 0 1] [--environments Hopper-v5 ...] [--workers 2]

Then `python scripts/build_zoo.py` turns finished runs into zoo/ and results/collect/.
"""

from __future__ import annotations

import argparse

from rlassay.collect.runs import training_tasks
from rlassay.collect.settings import TD3Settings
from rlassay.engine.local import LocalEngine, Outcome
from rlassay.engine.store import RunStore
from rlassay.study.grid.plan import ENVIRONMENTS


def tell(outcome: Outcome) -> None:
    print(f"{outcome.task.label}: {outcome.failure or 'done'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS))
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    tasks = [
        task
        for env_id in arguments.environments
        for task in training_tasks(env_id, arguments.seeds, TD3Settings())
    ]
    LocalEngine(arguments.workers).run(tasks, RunStore(), tell)


if __name__ == "__main__":
    main()
