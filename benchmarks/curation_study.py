"""The evidence for curation: what agents learn from curated data, and whether episode scores find bad episodes.

    python benchmarks/curation_study.py --env Hopper-v5 --env HalfCheetah-v5            # both parts
    python benchmarks/curation_study.py --env Hopper-v5 --part detection                # minutes
    python benchmarks/curation_study.py --env Hopper-v5 --updates 500 --seeds 1 --out /tmp/smoke   # does it run?

Actors come from the zoo, else from the TD3 runs in the run store. Every run is kept in the store, so the same command
continues where it was stopped. Results: runs.csv, summary.csv and detection.csv, each with a JSON of its settings.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rlassay import runtime

runtime.use_threads(1)

from rlassay.collect.graded import RolloutSettings  # noqa: E402
from rlassay.engine.files import write_json  # noqa: E402
from rlassay.engine.local import LocalEngine  # noqa: E402
from rlassay.engine.store import RunStore  # noqa: E402
from rlassay.formats import load, save  # noqa: E402
from rlassay.oracle import settings_of  # noqa: E402
from rlassay.study import curation, detection  # noqa: E402
from rlassay.study.curation.mixtures import (  # noqa: E402
    MIXTURES,
    find_actors,
    labelled_episodes,
    mixture,
    mixture_recipe,
)
from rlassay.study.grid.data import identity_of  # noqa: E402
from rlassay.study.grid.files import markdown_table, read_about, read_table, write_table  # noqa: E402
from rlassay.study.grid.plan import LITE  # noqa: E402

SHOWN = (
    "dataset",
    "agent",
    "arm",
    "runs",
    "score",
    "low",
    "high",
    "against_return",
    "low_return",
    "high_return",
)


def main() -> None:
    arguments = parse()
    store, engine = RunStore(), LocalEngine(arguments.workers)
    if arguments.part in ("both", "detection"):
        run_detection(arguments, store, engine)
    if arguments.part in ("both", "learning"):
        run_learning(arguments, store, engine)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--env", action="append", help="may be given several times; default Hopper-v5"
    )
    parser.add_argument(
        "--dataset", action="append", choices=MIXTURES, help="default: all mixtures"
    )
    parser.add_argument("--part", choices=("both", "learning", "detection"), default="both")
    parser.add_argument("--arms", default=",".join(curation.ARMS))
    parser.add_argument("--agents", default=",".join(curation.AGENTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--transitions", type=int, default=LITE.transitions)
    parser.add_argument("--updates", type=int, help="default: those of the oracle's lite profile")
    parser.add_argument("--episodes", type=int, default=40, help="of each label, for detection")
    parser.add_argument("--preset", default="default", help="of scoring")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--zoo", type=Path, default=Path("zoo"))
    parser.add_argument("--out", type=Path, default=Path("results/curation"))
    arguments = parser.parse_args()
    arguments.env = arguments.env or ["Hopper-v5"]
    arguments.dataset = arguments.dataset or list(MIXTURES)
    return arguments


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def about(arguments: argparse.Namespace, **more: Any) -> dict[str, Any]:
    words = ["python", "benchmarks/curation_study.py", *sys.argv[1:]]
    return {
        "command": shlex.join(words),
        "seeds": arguments.seeds,
        "preset": arguments.preset,
        **more,
    }


# -- learning --------------------------------------------------------------------------------------------------------


def run_learning(arguments: argparse.Namespace, store: RunStore, engine: LocalEngine) -> None:
    from rlassay.settings import flatten

    settings, grids = agent_settings(arguments), []
    for environment in arguments.env:
        actors = find_actors(environment, arguments.zoo)
        for name in arguments.dataset:
            data = mixture(actors, name, arguments.transitions)
            grids.append(curation.Grid(
                environment, name, str(data.path), data.fingerprint, tuple(arguments.arms.split(",")),
                tuple(arguments.agents.split(",")), arguments.seeds, arguments.preset,
            ))  # fmt: skip
    details = about(
        arguments, agents={agent: flatten(chosen) for agent, chosen in settings.items()},
        transitions=arguments.transitions, **curation.describe_rules(),
    )  # fmt: skip
    failures = curation.run_grids(
        grids, settings, arguments.out, details, engine=engine, store=store, report=say
    )
    if failures:
        raise SystemExit("\n".join(failures))
    print(markdown_table(read_table(arguments.out / "summary.csv"), SHOWN))


def agent_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of the oracle's lite profile, unless `--updates` asks for fewer or more."""
    changes = {} if arguments.updates is None else {"updates": arguments.updates}
    return settings_of(arguments.agents.split(","), LITE.name, changes)


# -- detection -------------------------------------------------------------------------------------------------------


def run_detection(arguments: argparse.Namespace, store: RunStore, engine: LocalEngine) -> None:
    path = arguments.out / "detection.csv"
    found = read_table(path) if path.exists() else []
    for environment in arguments.env:
        data, labels, description = labelled(arguments, environment, store)
        rows = detection.detect(
            environment,
            data,
            labels,
            seeds=arguments.seeds,
            preset=arguments.preset,
            engine=engine,
            store=store,
        )
        found = [row for row in found if row["environment"] != environment] + rows
        made = about(arguments, episodes_of_each_label=arguments.episodes, **description)
        environments = {**read_about(path).get("environments", {}), environment: made}
        write_table(path, found, detection.COLUMNS, {"environments": environments})
        wide = detection.pivot(found)
        columns = list(dict.fromkeys(name for row in wide for name in row))
        write_table(path.with_name("detection_table.csv"), wide, columns, made)
        print(markdown_table(rows, detection.COLUMNS))


def labelled(
    arguments: argparse.Namespace, environment: str, store: RunStore
) -> tuple[dict, np.ndarray, dict]:
    """The labelled episodes, made once: a dataset file and the labels beside it."""
    actors = find_actors(environment, arguments.zoo)
    seed = actors.seeds()[0]
    description = {"actors": {"kind": actors.kind, "seed": seed, "step": max(actors.steps(seed))}}
    recipe = mixture_recipe(actors, "expert-random")  # the labels are made of the same actor
    identity = identity_of(actors, recipe, RolloutSettings(arguments.episodes))
    name = f"detection-{environment}-{identity}"
    path = store.root / "datasets" / f"{name}.npz"
    if not path.with_suffix(".json").exists():
        data, labels = labelled_episodes(actors, arguments.episodes)
        save(data, path)
        write_json(path.with_suffix(".json"), labels.tolist())
    import json

    labels = np.asarray(json.loads(path.with_suffix(".json").read_text()))
    return {"path": str(path), "fingerprint": load(path).fingerprint}, labels, description


if __name__ == "__main__":
    main()
